package sessionlog

import "troupe/actors/script"

// appendLine appends a line in the format of the file.
func appendLine(to []byte, l script.Line) []byte {
	return append(append(to, l.Clean().String()...), '\n')
}
