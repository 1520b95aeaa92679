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
func (l *Loader) namesCustom() bool { return l.custom || l.names(customWord) }

// setCustom gives the inspect module that symbol, now or when it is loaded.
func (l *Loader) setCustom() {
	l.custom = true
	if l.inspect != nil {
		l.inspect.put("custom", l.symbol("nodejs.util.inspect.custom"))
	}
}

// symbol is Symbol.for.
func (l *Loader) symbol(key string) *goja.Symbol {
	class := l.runtime.Get("Symbol").ToObject(l.runtime)
	register, _ := goja.AssertFunction(class.Get("for"))
	v, err := register(class, l.runtime.ToValue(key))
	must(err)
	return v.(*goja.Symbol)
}

// names reports whether a file of the bundle has the word.
func (l *Loader) names(word string) bool {
	return l.options.Unit.Memo("names "+word, func() any {
		for _, text := range l.resolver.files {
			if bytes.Contains(text, []byte(word)) {
				return true
			}
		}
		return false
	}).(bool)
}
