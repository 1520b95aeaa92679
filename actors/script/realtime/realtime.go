package realtime

import _ "embed" // of the file beside this one

// Source is a CommonJS module that exports create(host).
//
//go:embed realtime.js
var Source string

// Name is what Source is called in stacks; frames with "troupe:" in their name belong to the host, not to the script.
const Name = "troupe:realtime"
