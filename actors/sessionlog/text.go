package sessionlog

import "troupe/actors/script"

// appendLine appends a line as the file has it.
func appendLine(to []byte, l script.Line) []byte {
	return append(append(to, l.Clean().String()...), '\n')
}
