package bundle_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"troupe/actors/filetree/filetreetest"
	"troupe/actors/script/bundle"
)

type item = filetreetest.Item

var pack, mode = filetreetest.Pack, filetreetest.Mode

func paths(b *bundle.Bundle) string {
	return strings.Join(slices.Sorted(maps.Keys(b.Files)), " ")
}

func TestAZipBecomesItsFiles(t *testing.T) {
	b, err := bundle.FromZip(pack(t,
		item{Name: "lib/"}, item{Name: "lib/"}, item{Name: "./", Change: mode(fs.ModeDir | 0o755)},
		item{Name: "main.js", Text: "one"}, item{Name: "./lib/./deep/žluť.js", Text: "two"},
		item{Name: "data.json", Text: "{}", Change: func(h *zip.FileHeader) { h.Method = zip.Store }},
		item{Name: "__MACOSX/._main.js", Text: "x"}, item{Name: "empty"},
	), bundle.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(b); got != "data.json empty lib/deep/žluť.js main.js" {
		t.Error(got)
	}
	if string(b.Files["main.js"]) != "one" || string(b.Files["lib/deep/žluť.js"]) != "two" {
		t.Errorf("%q", b.Files)
	}
}

// What must be refused according to reliability.md 6 and service-api.md 2.5; actors/filetree refuses more.
func TestAZipIsRefused(t *testing.T) {
	js := item{Name: "main.js", Text: "x"}
	small := bundle.Limits{UnpackedMax: 3 << 20}
	many := []item{js}
	for i := range bundle.FilesMax {
		many = append(many, item{Name: fmt.Sprint(i)})
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"archive too big": {make([]byte, 5_000_001), "5000001 bytes; at most 5000000"},
		"no script":       {pack(t, item{Name: "a.txt"}), "no script"},
		"only types":      {pack(t, item{Name: "a.d.ts"}), "no script"},
		"too many":        {pack(t, many...), "more than 10000 files"},
		"parent":          {pack(t, item{Name: "../main.js"}), "leaves"},
		"too large":       {pack(t, js, item{Name: "noise", Text: noise(1000)}, item{Name: "a", Text: strings.Repeat("a", 2<<20)}, item{Name: "b", Text: strings.Repeat("a", 2<<20)}), "larger than 3145728"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := bundle.FromZip(c.data, small)
			if err == nil || b != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v, want %q", b, err, c.want)
			}
		})
	}
}

// Declared sizes may be wrong, so the limit applies to the bytes that are actually unpacked.
func TestAZipThatLiesAboutItsSizesIsCounted(t *testing.T) {
	data := pack(t, item{Name: "main.js", Text: strings.Repeat("a", 8<<20)})
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[at+24:], 10) // uncompressed size of the central directory
	if _, err := bundle.FromZip(data, bundle.Limits{UnpackedMax: 1 << 20}); err == nil {
		t.Error("accepted")
	}
	// Entries that share their compressed bytes (an overlapping bomb) are counted separately.
	data = pack(t, item{Name: "main.js", Text: strings.Repeat("a", 900_000)}, item{Name: "bbbb.js", Text: strings.Repeat("a", 900_000)})
	first := bytes.Index(data, []byte("PK\x01\x02"))
	second := bytes.LastIndex(data, []byte("PK\x01\x02"))
	copy(data[second+42:second+46], data[first+42:first+46]) // offset of its local header
	if _, err := bundle.FromZip(data, bundle.Limits{UnpackedMax: 1 << 20}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}

// An archive of five million bytes is accepted, and one more byte is refused (API-58).
func TestTheSizeOfAnArchive(t *testing.T) {
	exact := pack(t, item{Name: "main.js"}, item{Name: "pad", Change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	pad := item{Name: "pad", Text: noise(bundle.ZipMax - len(exact)), Change: func(h *zip.FileHeader) { h.Method = zip.Store }}
	data := pack(t, item{Name: "main.js"}, pad)
	if len(data) != bundle.ZipMax {
		t.Fatalf("the archive has %d bytes", len(data))
	}
	if _, err := bundle.FromZip(data, bundle.Limits{}); err != nil {
		t.Error(err)
	}
	pad.Text += "x"
	if _, err := bundle.FromZip(pack(t, item{Name: "main.js"}, pad), bundle.Limits{}); err == nil {
		t.Error("5000001 bytes are accepted")
	}
}

// noise returns a text that cannot be compressed.
func noise(n int) string {
	out, x := make([]byte, n), uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = byte(x >> 24)
	}
	return string(out)
}
