package node

import _ "embed" // embeds the JavaScript files of this directory

// bootJS is the main file of the node process. It runs shimJS under a file name of the host.
var (
	//go:embed boot.js
	bootJS string
	//go:embed shim.js
	shimJS string
)

const emptyJS = "'use strict';\nmodule.exports = {};\n"
