package modules

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
)

const metadataFile = "/local/gamemetadata/gamelift-metadata.json" // contains the attributes of the fleet (realtime.md 18.4)

// fsBinding gives read access to the bundle. All paths are absolute.
func fsBinding(l *Loader) map[string]any {
	r := l.runtime
	return map[string]any{
		// kind returns "file", "folder", "outside" (not in the bundle) or "" (does not exist) for a path.
		"kind": native(func(c goja.FunctionCall) goja.Value { return r.ToValue(l.fileKind(c.Argument(0).String())) }),
		// read returns a copy of a file, because the bundle is shared.
		"read": native(func(c goja.FunctionCall) goja.Value {
			data, _ := l.fileData(c.Argument(0).String())
			return r.ToValue(r.NewArrayBuffer(bytes.Clone(data)))
		}),
		"list": native(func(c goja.FunctionCall) goja.Value {
			var out []any
			for _, name := range l.folder(c.Argument(0).String()) {
				out = append(out, name)
			}
			return r.NewArray(out...)
		}),
		"root": compile.Root,
		"time": float64(l.start.UnixMilli()),
	}
}

func (l *Loader) fileData(abs string) (data []byte, ok bool) {
	if abs = path.Clean(abs); abs == metadataFile && l.options.Metadata != nil {
		return l.options.Metadata, true
	}
	name, ok := inside(abs)
	if !ok {
		return nil, false
	}
	data, ok = l.resolver.files[name]
	return data, ok
}

func (l *Loader) fileKind(abs string) string {
	abs = path.Clean(abs)
	if _, ok := l.fileData(abs); ok {
		return "file"
	}
	if abs == path.Dir(metadataFile) && l.options.Metadata != nil || abs == path.Dir(compile.Root) || abs == "/" {
		return "folder"
	}
	name, ok := inside(abs)
	if !ok {
		return "outside"
	}
	if name == "." {
		return "folder"
	}
	for f := range l.resolver.files {
		if strings.HasPrefix(f, name+"/") {
			return "folder"
		}
	}
	return ""
}

func (l *Loader) folder(abs string) []string {
	abs = path.Clean(abs)
	prefix := strings.TrimSuffix(abs, "/") + "/"
	seen := make(map[string]bool)
	add := func(file string) {
		if rest, ok := strings.CutPrefix(file, prefix); ok {
			name, _, _ := strings.Cut(rest, "/")
			seen[name] = true
		}
	}
	for f := range l.resolver.files {
		add(outside(f))
	}
	if l.options.Metadata != nil {
		add(metadataFile)
	}
	return slices.Sorted(maps.Keys(seen))
}
