package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/compile"
)

// Loader is the module system of one runtime. Only the goroutine that runs the runtime may call its methods.
type Loader struct {
	runtime  *goja.Runtime
	options  Options
	resolver resolver
	start    time.Time

	cache    *goja.Object            // loaded files by absolute path: require.cache
	builtin  map[string]*goja.Object // loaded built-in modules, by the name of their source
	main     goja.Value              // the module of the entry
	pause    goja.Value              // the pause object (compile.PauseName)
	builtinF *goja.Object
	have     uint8 // bit set of the installed additions

	formatF goja.Callable // util.format; nil until it is used

	unfinished [script.LevelError + 1]string // by level: incomplete last lines of process.stdout and process.stderr
}

// Enable adds the globals of Node.js to r and returns its module loader. It runs no script code.
func Enable(r *goja.Runtime, o Options) *Loader {
	l := &Loader{
		runtime: r, options: o, resolver: resolver{o.Unit.Files(), o.Unit.Memo}, start: time.Now(),
		cache: r.NewObject(), builtin: make(map[string]*goja.Object), main: goja.Undefined(),
	}
	l.pause = r.NewDynamicObject(&pause{loader: l, pause: o.Pause})
	l.enableGlobals()
	return l
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Builtin returns the exports of the built-in module with the given source. Like any native function, it
// panics with the errors of script code.
func (l *Loader) Builtin(name string) goja.Value {
	module, ok := l.builtin[name]
	if !ok {
		r := l.runtime
		p := program(name)
		l.install(p.words)
		f := l.function(p.program)
		module = r.NewObject()
		exports := r.NewObject()
		must(module.Set("exports", exports))
		l.builtin[name] = module
		if l.builtinF == nil {
			l.builtinF = r.ToValue(func(c goja.FunctionCall) goja.Value { return l.Builtin(c.Argument(0).String()) }).(*goja.Object)
		}
		if _, err := f(exports, exports, l.builtinF, module, l.binding(name)); err != nil {
			delete(l.builtin, name)
			rethrow(r, err)
		}
		l.withBorder(name, module.Get("exports"))
	}
	return module.Get("exports")
}

// function runs a program whose value is a function (pause), and returns the function that this one returns.
func (l *Loader) function(p *goja.Program) goja.Callable {
	return l.asFunction(l.asFunction(l.runtime.RunProgram(p))(goja.Undefined(), l.pause))
}

func (l *Loader) asFunction(v goja.Value, err error) goja.Callable {
	if err != nil {
		rethrow(l.runtime, err)
	}
	f, ok := goja.AssertFunction(v)
	if !ok {
		panic(l.runtime.NewTypeError("a module is not a function"))
	}
	return f
}

// rethrow panics with err so that the script sees it as an exception.
func rethrow(r *goja.Runtime, err error) {
	switch err.(type) {
	case *goja.Exception, *goja.InterruptedError, *goja.StackOverflowError: // a script can catch only Exception
		panic(err)
	}
	panic(r.NewGoError(err))
}

// Require loads a file of the bundle as the main module and returns its exports. The error is *compile.Error,
// *goja.Exception or fs.ErrNotExist.
func (l *Loader) Require(entry string) (goja.Value, error) {
	name, ok := l.resolver.path(path.Clean(strings.TrimPrefix(strings.TrimPrefix(entry, compile.Root), "/")), false)
	if !ok {
		return nil, fmt.Errorf("%s: %w", entry, fs.ErrNotExist)
	}
	if _, err := l.options.Unit.Program(name); err != nil {
		return nil, err
	}
	var exports goja.Value
	if e := l.runtime.Try(func() { exports = l.load(name, nil) }); e != nil {
		return nil, e
	}
	return exports, nil
}

// load returns the exports of a file. It runs the file if the file is not in the cache.
func (l *Loader) load(name string, parent *goja.Object) goja.Value {
	r, filename := l.runtime, compile.Root+"/"+name
	if cached := l.cache.Get(filename); cached != nil && !goja.IsUndefined(cached) {
		return cached.ToObject(r).Get("exports")
	}
	p, err := l.options.Unit.Program(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			panic(l.coded("Error", "ERR_UNKNOWN_FILE_EXTENSION", fmt.Sprintf("Cannot load %s: the embedded engine does not take such a file for a script; %s", filename, compile.UseNode)))
		}
		panic(l.thrown("SyntaxError", err.Error()))
	}
	l.install(l.mentioned(name))
	body := l.function(p)
	module, exports := r.NewObject(), r.NewObject()
	id := filename
	if parent == nil {
		id, l.main = ".", module
	}
	must(module.Set("id", id))
	must(module.Set("path", path.Dir(filename)))
	must(module.Set("exports", exports))
	must(module.Set("filename", filename))
	must(module.Set("loaded", false))
	if parent != nil {
		must(module.DefineDataProperty("parent", parent, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	require := l.require(name, module)
	must(module.DefineDataProperty("require", require, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(l.cache.Set(filename, module))
	done := false
	defer func() {
		if !done {
			_ = l.cache.Delete(filename)
		}
	}()
	if _, err := body(exports, exports, require, module, r.ToValue(filename), r.ToValue(path.Dir(filename))); err != nil {
		rethrow(r, err)
	}
	done = true
	must(module.Set("loaded", true))
	return module.Get("exports")
}

func (l *Loader) require(name string, module *goja.Object) *goja.Object {
	r := l.runtime
	f := r.ToValue(func(c goja.FunctionCall) goja.Value {
		request := l.request(c)
		if source, ok := l.served(request, name); ok {
			return l.Builtin(source)
		}
		if class, ok := l.messageClass(request, name); ok {
			return class
		}
		return l.load(l.find(request, name), module)
	}).(*goja.Object)
	must(f.DefineDataProperty("name", r.ToValue("require"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(f.Set("resolve", func(c goja.FunctionCall) goja.Value {
		request := l.request(c)
		if _, ok := l.served(request, name); ok {
			return r.ToValue(request)
		}
		return r.ToValue(outside(l.find(request, name)))
	}))
	must(f.Set("cache", l.cache))
	must(f.Set("main", l.main))
	return f
}

func (l *Loader) request(c goja.FunctionCall) string {
	v := c.Argument(0)
	if s, ok := v.(goja.String); ok && s.Length() > 0 {
		return s.String()
	}
	panic(l.coded("TypeError", "ERR_INVALID_ARG_TYPE", `The "id" argument must be a string that is not empty. Received `+v.String()))
}

// served returns the source of the built-in module that a request names. ok is false if the request is for
// another module. It throws if the module exists in Node.js but not in the embedded engine.
func (l *Loader) served(request, from string) (source string, ok bool) {
	name, prefixed := strings.CutPrefix(request, "node:")
	if source, ok = builtins[name]; ok {
		return source, true
	}
	if absent[name] || prefixed {
		// A package of the same name in the bundle takes precedence, unless the request begins with node:.
		if !prefixed {
			if _, err := l.resolver.resolve(request, from); err == nil {
				return "", false
			}
		}
		panic(l.coded("Error", "ERR_MODULE_NOT_SERVED", fmt.Sprintf("Cannot load the module '%s' (required by %s/%s): %s", request, compile.Root, from, compile.Lacks("it"))))
	}
	return "", false
}

// messageClasses are generated modules in the original server's directory (realtime.md 15.1). Scripts require
// them but do not use them.
var messageClasses = map[string]bool{"Packet_pb": true, "CoreCommands_pb": true, "GroupMessages_pb": true}

// messageClass returns an empty module for a request for one of messageClasses that is not in the bundle.
func (l *Loader) messageClass(request, from string) (goja.Value, bool) {
	if dir, base := path.Split(strings.TrimSuffix(request, ".js")); !messageClasses[base] || path.Base(path.Clean(dir)) != "proto" {
		return nil, false
	}
	if _, err := l.resolver.resolve(request, from); err == nil {
		return nil, false
	}
	return l.Builtin("proto"), true
}

func (l *Loader) find(request, from string) string {
	name, err := l.resolver.resolve(request, from)
	if e, ok := err.(notExported); ok {
		panic(l.coded("Error", "ERR_PACKAGE_PATH_NOT_EXPORTED", e.Error()))
	} else if err != nil && strings.HasPrefix(request, "#") {
		panic(l.coded("Error", "ERR_MODULE_NOT_SERVED", fmt.Sprintf("Cannot load '%s' (required by %s/%s): %s", request, compile.Root, from, compile.Lacks("imports of package.json"))))
	} else if err != nil {
		panic(l.coded("Error", "MODULE_NOT_FOUND", fmt.Sprintf("Cannot find module '%s'\nRequire stack:\n- %s/%s", request, compile.Root, from)))
	}
	return name
}

func (l *Loader) coded(class, code, message string) *goja.Object {
	e := l.thrown(class, message)
	must(e.Set("code", code))
	return e
}

func (l *Loader) thrown(class, message string) *goja.Object {
	e, err := l.runtime.New(l.runtime.Get(class), l.runtime.ToValue(message))
	must(err)
	return e
}
