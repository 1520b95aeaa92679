package sessionlog

import (
	"fmt"
	"net/url"
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

// parse is the inverse of base and file. It accepts only paths that these functions return.
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
	for part := range strings.SplitSeq(stem[:dot], string(filepath.Separator)) {
		if len(part) < 2 {
			return "", 0, false
		}
		s.WriteString(part[2:])
	}
	plain, err := url.PathUnescape(strings.ReplaceAll(s.String(), "_", "%"))
	if err != nil {
		return "", 0, false
	}
	id = messages.GameSessionID(plain)
	made, ok := base(id) // also rejects paths that are escaped in another way
	return id, number, ok && number > 0 && file(made, number) == path
}

func plain(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '-' }

func escape(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if plain(s[i]) {
			out.WriteByte(s[i])
		} else {
			fmt.Fprintf(&out, "_%02x", s[i])
		}
	}
	return out.String()
}
