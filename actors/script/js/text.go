package js

import (
	"strings"
	"unicode/utf8"
)

// text decodes UTF-8 as the Encoding Standard does: each maximal part of a sequence
// that is none becomes one U+FFFD, where Go makes one of each byte.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b) + len(b)/2)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = maximalPart(b)
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}

// maximalPart returns how long the start of b could be a sequence. b[0] starts none
// that is complete.
func maximalPart(b []byte) int {
	low, high, rest := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		rest = 1
	case c >= 0xe0 && c <= 0xef:
		rest = 2
		switch c {
		case 0xe0:
			low = 0xa0
		case 0xed:
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		rest = 3
		switch c {
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	}
	n := 1
	for ; n <= rest && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}
