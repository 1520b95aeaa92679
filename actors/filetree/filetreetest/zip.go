package filetreetest

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"testing"
)

// Item is an entry of an archive. Change modifies its header; it may be nil.
type Item struct {
	Name, Text string
	Change     func(*zip.FileHeader)
}

// Pack returns an archive.
func Pack(tb testing.TB, items ...Item) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.Name, Method: zip.Deflate}
		if i.Change != nil {
			i.Change(h)
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(i.Text))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// Mode returns an Item.Change that sets the mode of an entry.
func Mode(m fs.FileMode) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.SetMode(m) } }
