package realtime

import "strings"

// textMax is the maximum number of bytes of a text that is searched for stack traces. The log shows less than
// that.
const textMax = 64 << 10

// OwnFrames returns a text for the log. In its stack traces, it leaves out the frames of the host and all
// frames outside the script's outermost frame.
func OwnFrames(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	if len(text) > textMax {
		end := strings.LastIndexByte(text[:textMax], '\n') + 1
		return OwnFrames(text[:end]) + text[end:]
	}
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for i := 0; i < len(lines); {
		if !isFrame(lines[i]) {
			kept = append(kept, lines[i])
			i++
			continue
		}
		first, outermost := len(kept), -1
		last := ""
		for ; i < len(lines) && isFrame(lines[i]); i++ {
			last = lines[i]
			if isHosts(last) {
				continue
			}
			kept = append(kept, last)
			if !isEngines(last) {
				outermost = len(kept)
			}
		}
		if outermost > first {
			kept = kept[:outermost]
		}
		// Keep text after the stack trace on its last line, such as the "{ code: 1 }" of an error.
		if n := len(kept); n > 0 && kept[n-1] != last {
			kept[n-1] += last[len(strings.TrimRight(last, " ,{}[]")):]
		}
	}
	return strings.Join(kept, "\n")
}

func isFrame(line string) bool {
	frame := strings.TrimLeft(line, " \t")
	return len(frame) < len(line) && (strings.HasPrefix(frame, "at ") || isGap(frame))
}

// isGap reports whether a line stands for frames that another stack trace in the text already shows.
func isGap(frame string) bool { return strings.Contains(frame, "lines matching cause stack trace") }

// isHosts reports whether a frame belongs to the host: to its JavaScript, or to Go code, recognized by its
// package path.
func isHosts(frame string) bool {
	return strings.Contains(frame, "troupe:") || strings.Contains(frame, " troupe/actors/") || strings.Contains(frame, "(node:console:")
}

// isEngines reports whether a frame belongs to the engine itself.
func isEngines(frame string) bool {
	return strings.Contains(frame, "node:") || strings.Contains(frame, "(native)") || isGap(frame)
}
