package sessionlog

import (
	"path/filepath"
	"strconv"
	"strings"

	"troupe/messages"
)

const idMax = 1024 // maximum length of an id that can have a log, in bytes

const partBytes = 180 // maximum length of the part of an escaped id in one file name; file systems allow 255 bytes

// base returns the path of a game session's files, relative to the store's folder and without the file number. All
// characters except lower-case letters, digits and hyphens are escaped, so that ids that differ only in case have
// different files on every file system. Long ids are split into folders. ok is false if the id is empty or too long to
// have a log.
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

// file returns the path of a game session's file with the given number.
func file(base string, number int) string { return base + "." + strconv.Itoa(number) + ".log" }

// parse is the inverse of base and file. It accepts only paths that these functions return. A start parses the paths of
// thousands of files, so only the id is allocated.
func parse(path string) (id messages.GameSessionID, number int, ok bool) {
	stem, ok := strings.CutSuffix(path, ".log")
	dot := strings.LastIndexByte(stem, '.')
	if !ok || dot < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(stem[dot+1:])
	if err != nil || number <= 0 || stem[dot+1] < '1' || stem[dot+1] > '9' {
		return "", 0, false
	}
	escaped := make([]byte, 0, 3*idMax)
	rest := stem[:dot]
	for more := true; more; {
		var part string
		part, rest, more = strings.Cut(rest, string(filepath.Separator))
		prefix := "s-"
		if more {
			prefix = "d-"
		}
		part, ok = strings.CutPrefix(part, prefix)
		if !ok || len(part) == 0 || len(part) > partBytes || more && len(part) < partBytes || len(escaped)+len(part) > cap(escaped) {
			return "", 0, false
		}
		escaped = append(escaped, part...)
	}
	plain, ok := unescape(escaped)
	return messages.GameSessionID(plain), number, ok && len(plain) <= idMax
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

// unescape is the inverse of escape. It overwrites s with the result. ok is false if escape does not return s.
func unescape(s []byte) (result []byte, ok bool) {
	result = s[:0]
	for i := 0; i < len(s); i++ {
		b := s[i]
		if !plain(b) {
			if b != '_' || i+2 >= len(s) {
				return nil, false
			}
			high, low := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
			b = byte(high<<4 | low)
			if high < 0 || low < 0 || plain(b) {
				return nil, false
			}
			i += 2
		}
		result = append(result, b)
	}
	return result, true
}
