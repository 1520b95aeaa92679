package node

import _ "embed" // of the JavaScript beside this file

// bootJS is what node is started with; it runs shimJS under a name of the host. emptyJS stands for the original's generated message
// classes, which scripts load and never use (realtime.md 15.1).
var (
	//go:embed boot.js
	bootJS string
	//go:embed shim.js
	shimJS string
)

const emptyJS = "'use strict';\nmodule.exports = {};\n"
