package bundle_test

import (
	"io/fs"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"troupe/actors/script/bundle"
)

// FromZip must not panic on any input. An accepted archive must be within the limits and have clean paths,
// and Entry and Engine must work.
func FuzzFromZip(f *testing.F) {
	f.Add(pack(f, item{Name: "main.js", Text: "x"}, item{Name: "lib/a.js", Text: strings.Repeat("y", 5000)}))
	f.Add(pack(f, item{Name: "index.js"}, item{Name: "package.json", Text: `{"main":"index","troupe":{"engine":"node"}}`}))
	f.Add(pack(f, item{Name: "../main.js"}))
	f.Add(pack(f, item{Name: "main.js", Change: mode(fs.ModeSymlink)}))
	limits := bundle.Limits{UnpackedMax: 1 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := bundle.FromZip(data, limits)
		if err != nil {
			if b != nil {
				t.Error("a bundle and an error")
			}
			return
		}
		total := 0
		for name, content := range b.Files {
			total += len(content)
			if !fs.ValidPath(name) || path.IsAbs(name) || !utf8.ValidString(name) || strings.ContainsAny(name, "\\\x00") {
				t.Errorf("path %q", name)
			}
		}
		if total > 1<<20 || len(b.Files) > bundle.FilesMax {
			t.Errorf("%d bytes in %d files", total, len(b.Files))
		}
		_, _ = b.Engine()
		if entry, err := b.Entry(""); err == nil && b.Files[entry] == nil {
			t.Errorf("entry %q", entry)
		}
	})
}
