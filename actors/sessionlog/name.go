package sessionlog

import (
	"path/filepath"
	"strconv"
	"strings"

	"troupe/messages"
)

// idMax is the longest id that can have a log, in bytes.
const idMax = 1024

// partBytes is the longest piece of an escaped id in one file name: file systems
// allow 255 bytes.
const partBytes = 180

// base returns the path of a game session's files, relative to the store's folder
// and without their number. All characters except lower-case letters, digits and
// hyphens are escaped, so that ids that differ only in case have different files on
// any file system. Long ids become folders. Ok is false for an id that is empty or
// too long to have a log.
func base(id messages.GameSessionID) (path string, ok bool) {
	if id == "" || len(id) > idMax {
		return "", false
	}
	s := escape(string(id))
	for len(s) > partBytes {
		path = filepath.Join(path, "d-"+s[:partBytes])
		s = s[partBytes:]
	}
	return filepath.Join(path, "s-"+s), true
}

// file returns the path of a game session's file with a number.
func file(base string, number int) string { return base + "." + strconv.Itoa(number) + ".log" }

// parse is the inverse of base and file. It accepts only paths that they return.
func parse(path string) (id messages.GameSessionID, number int, ok bool) {
	stem, ok := strings.CutSuffix(path, ".log")
	dot := strings.LastIndexByte(stem, '.')
	if !ok || dot < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(stem[dot+1:])
	if err != nil {
		return "", 0, false
	}
	var s strings.Builder
	for _, part := range strings.Split(stem[:dot], string(filepath.Separator)) {
		if len(part) < 2 {
			return "", 0, false
		}
		s.WriteString(part[2:])
	}
	plain, ok := unescape(s.String())
	if !ok {
		return "", 0, false
	}
	id = messages.GameSessionID(plain)
	made, ok := base(id)
	return id, number, ok && number > 0 && file(made, number) == path
}

func plain(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '-' }

const hexDigits = "0123456789abcdef"

func escape(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if b := s[i]; plain(b) {
			out.WriteByte(b)
		} else {
			out.Write([]byte{'_', hexDigits[b>>4], hexDigits[b&15]})
		}
	}
	return out.String()
}

func unescape(s string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '_' {
			out.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		b, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		out.WriteByte(byte(b))
		i += 2
	}
	return out.String(), true
}
