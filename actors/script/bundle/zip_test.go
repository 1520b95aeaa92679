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

	"troupe/actors/script/bundle"
)

// item is an entry of an archive. change modifies its header.
type item struct {
	name, text string
	change     func(*zip.FileHeader)
}

func pack(tb testing.TB, items ...item) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		if i.change != nil {
			i.change(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write([]byte(i.text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func mode(m fs.FileMode) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.SetMode(m) } }

func paths(b *bundle.Bundle) string {
	return strings.Join(slices.Sorted(maps.Keys(b.Files)), " ")
}

func TestAZipBecomesItsFiles(t *testing.T) {
	b, err := bundle.FromZip(pack(t,
		item{name: "lib/"}, item{name: "lib/"}, item{name: "./", change: mode(fs.ModeDir | 0o755)},
		item{name: "main.js", text: "one"}, item{name: "./lib/./deep/žluť.js", text: "two"},
		item{name: "data.json", text: "{}", change: func(h *zip.FileHeader) { h.Method = zip.Store }},
		item{name: "__MACOSX/._main.js", text: "x"}, item{name: "empty"},
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

// What must be refused according to reliability.md 6 and service-api.md 2.5; actors/filetree has the rules for paths.
func TestAZipIsRefused(t *testing.T) {
	js := item{name: "main.js", text: "x"}
	small := bundle.Limits{UnpackedMax: 3 << 20}
	many := []item{js}
	for i := range bundle.FilesMax {
		many = append(many, item{name: fmt.Sprint(i)})
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":         {nil, "cannot be read"},
		"archive too big": {make([]byte, 5_000_001), "5000001 bytes; at most 5000000"},
		"no script":       {pack(t, item{name: "a.txt"}), "no script"},
		"only types":      {pack(t, item{name: "a.d.ts"}), "no script"},
		"only finder's":   {pack(t, item{name: "__MACOSX/._main.js"}), "no script"},
		"too many":        {pack(t, many...), "more than 10000 files"},
		"parent":          {pack(t, item{name: "../main.js"}), "leaves"},
		"link":            {pack(t, item{name: "main.js", text: "/etc/passwd", change: mode(fs.ModeSymlink | 0o777)}), "link"},
		"too large":       {pack(t, js, item{name: "noise", text: noise(1000)}, item{name: "a", text: strings.Repeat("a", 2<<20)}, item{name: "b", text: strings.Repeat("a", 2<<20)}), "larger than 3145728"},
		"bad checksum":    {corrupted(t, item{name: "main.js", text: "hello hello", change: func(h *zip.FileHeader) { h.Method = zip.Store }}), "checksum"},
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
	data := pack(t, item{name: "main.js", text: strings.Repeat("a", 8<<20)})
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[at+24:], 10) // uncompressed size of the central directory
	if _, err := bundle.FromZip(data, bundle.Limits{UnpackedMax: 1 << 20}); err == nil {
		t.Error("accepted")
	}
	// Entries that share their compressed bytes (an overlapping bomb) are counted separately.
	data = pack(t, item{name: "main.js", text: strings.Repeat("a", 900_000)}, item{name: "bbbb.js", text: strings.Repeat("a", 900_000)})
	first := bytes.Index(data, []byte("PK\x01\x02"))
	second := bytes.LastIndex(data, []byte("PK\x01\x02"))
	copy(data[second+42:second+46], data[first+42:first+46]) // offset of its local header
	if _, err := bundle.FromZip(data, bundle.Limits{UnpackedMax: 1 << 20}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}

// An archive of five million bytes is accepted, and one more byte is refused (API-58).
func TestTheSizeOfAnArchive(t *testing.T) {
	exact := pack(t, item{name: "main.js"}, item{name: "pad", change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	pad := item{name: "pad", text: noise(bundle.ZipMax - len(exact)), change: func(h *zip.FileHeader) { h.Method = zip.Store }}
	data := pack(t, item{name: "main.js"}, pad)
	if len(data) != bundle.ZipMax {
		t.Fatalf("the archive has %d bytes", len(data))
	}
	if _, err := bundle.FromZip(data, bundle.Limits{}); err != nil {
		t.Error(err)
	}
	pad.text += "x"
	if _, err := bundle.FromZip(pack(t, item{name: "main.js"}, pad), bundle.Limits{}); err == nil {
		t.Error("5000001 bytes are accepted")
	}
}

func corrupted(tb testing.TB, i item) []byte {
	data := pack(tb, i)
	data[bytes.Index(data, []byte(i.text))]++
	return data
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
