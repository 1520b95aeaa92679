package realtime

import _ "embed" // embeds realtime.js

// Source is a CommonJS module that exports create(host).
//
//go:embed realtime.js
var Source string

// Name is the file name of Source in stack traces. Frames with "troupe:" in their name belong to the host,
// not to the script.
const Name = "troupe:realtime"
