package stock

import (
	"bytes"
	"errors"
	"testing"
)

func TestRecords(t *testing.T) {
	unit := func(size int) []byte { return Unit(bytes.Repeat([]byte{7}, size)) }
	cut := func(b []byte, size int) (parts [][]byte) {
		for len(b) > size {
			parts, b = append(parts, b[:size]), b[size:]
		}
		return append(parts, b)
	}
	two := append(unit(3), unit(4)...)
	for name, c := range map[string]struct {
		chunk   int
		written [][]byte
		want    [][]byte
	}{
		"small":                        {1024, [][]byte{unit(3), unit(0)}, [][]byte{unit(3), unit(0)}},
		"in pieces":                    {1024, append(cut(unit(3000), 1024), unit(1)), [][]byte{unit(3000), unit(1)}},
		"exactly one piece":            {1024, [][]byte{unit(1022), unit(1)}, [][]byte{unit(1022), unit(1)}},
		"exactly two pieces":           {1024, append(cut(unit(2046), 1024), unit(1)), [][]byte{unit(2046), unit(1)}},
		"bytes after the unit":         {1024, [][]byte{two}, [][]byte{two}},
		"half a unit":                  {1024, [][]byte{unit(9)[:5], unit(1)}, [][]byte{unit(9)[:5], unit(1)}},
		"no length":                    {1024, [][]byte{bytes.Repeat([]byte{0xFF}, 1024), unit(1)}, [][]byte{bytes.Repeat([]byte{0xFF}, 1024), unit(1)}},
		"stream, byte by byte":         {0, cut(append(unit(300), two...), 1), [][]byte{unit(300), unit(3), unit(4)}},
		"stream, all at once":          {0, [][]byte{append(unit(300), two...)}, [][]byte{unit(300), unit(3), unit(4)}},
		"stream, length in two pieces": {0, cut(unit(300), 1), [][]byte{unit(300)}},
	} {
		r := records{chunk: c.chunk}
		var got [][]byte
		for _, w := range c.written {
			done, err := r.add(w)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got = append(got, done...)
		}
		if len(got) != len(c.want) || !bytes.Equal(bytes.Join(got, nil), bytes.Join(c.want, nil)) {
			t.Errorf("%s: got %d records %x, want %d", name, len(got), got, len(c.want))
		}
	}
	endless := records{}
	if _, err := endless.add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 1}); !errors.Is(err, errRecords) {
		t.Errorf("a unit of half a gigabyte: %v", err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3, 0, 2, 9, 9}, 3, true)
	f.Add(Unit(make([]byte, 2000)), 1024, false)
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}, 1, true)
	f.Fuzz(func(t *testing.T, output []byte, piece int, stream bool) {
		r := records{chunk: 1024}
		if piece = max(1, min(piece, 1024)); stream {
			r.chunk = 0
		}
		var got []byte
		for rest := output; len(rest) > 0; {
			n := min(piece, len(rest))
			done, err := r.add(rest[:n])
			if rest = rest[n:]; err != nil {
				return
			}
			got = append(got, bytes.Join(done, nil)...)
			for _, unit := range done {
				if _, after, err := SplitUnit(unit); stream && (err != nil || len(after) > 0) {
					t.Fatalf("%x is no unit: %v", unit, err)
				}
			}
			if len(r.buf) > recordsMax+1024 {
				t.Fatalf("%d bytes are kept", len(r.buf))
			}
		}
		if !bytes.Equal(append(got, r.buf...), output) {
			t.Fatal("bytes were lost, or made up")
		}
	})
}
