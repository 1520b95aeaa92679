package sessionlog

import (
	"io"
	"strings"
	"testing"

	"troupe/actors/actorstest/assert"
)

// The tail of a log is a suffix of it with at most the given number of bytes, even across files.
func TestTailIsASuffixOfTheLog(t *testing.T) {
	s := open(t, t.TempDir(), Options{fileBytes: 64 << 10, files: 8})
	w := s.Open("game")
	for n := range 200 {
		w.Write(line(padded(n, 60)))
	}
	all := read(t, s, "game")
	if strings.Count(all, "\n") != 200 {
		t.Fatalf("%d lines", strings.Count(all, "\n"))
	}
	for _, bytes := range []int64{1, 100, 4 << 10, 9000, int64(len(all)) - 1, int64(len(all)), int64(len(all)) + 1} {
		r, whole, err := s.Tail("game", bytes)
		assert.NoError(t, err)
		text, err := io.ReadAll(r)
		r.Close()
		want := all[max(0, len(all)-int(bytes)):]
		if err != nil || string(text) != want || whole != (int64(len(all)) <= bytes) {
			t.Errorf("%d bytes: %d of %d, whole %v, %v", bytes, len(text), len(all), whole, err)
		}
	}
}
