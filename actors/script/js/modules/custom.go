package modules

import (
	"bytes"

	"github.com/dop251/goja"
)

// Where no file has this word, no value has its own way to be printed: then the
// inspect module needs no Symbol, which takes 7 KiB.
const customWord = "custom"

// namesCustom reports whether a file of the bundle, or a module that was loaded, may
// have util.inspect.custom.
func (l *Loader) namesCustom() bool {
	return l.custom || l.options.Unit.Memo("names custom", func() any {
		for _, text := range l.resolver.files {
			if bytes.Contains(text, []byte(customWord)) {
				return true
			}
		}
		return false
	}).(bool)
}

// setCustom gives the inspect module that symbol, now or when it is loaded.
func (l *Loader) setCustom() {
	l.custom = true
	if l.inspect == nil {
		return
	}
	symbol := l.runtime.Get("Symbol").ToObject(l.runtime)
	register, _ := goja.AssertFunction(symbol.Get("for"))
	v, err := register(symbol, l.runtime.ToValue("nodejs.util.inspect.custom"))
	must(err)
	l.inspect.put("custom", v)
}
