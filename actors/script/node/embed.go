package node

import (
	"embed"
	"io/fs"
)

// sources are the JavaScript files of this directory. boot.js is the main file of the node process. It runs
// the others under names of the host.
//
//go:embed *.js
var sources embed.FS

// hostFiles returns the sources by name.
func hostFiles() map[string]string {
	files := make(map[string]string)
	names, _ := fs.Glob(sources, "*.js") // the pattern is valid
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			panic(err) // the file is embedded
		}
		files[name] = string(text)
	}
	return files
}

const emptyJS = "'use strict';\nmodule.exports = {};\n"
