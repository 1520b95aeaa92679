package filetree

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"troupe/actors/filetree/filetreetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type item = filetreetest.Item

var pack, mode = filetreetest.Pack, filetreetest.Mode

// unix marks an entry as made on Unix. Otherwise it is marked as made on MS-DOS.
func unix(h *zip.FileHeader) { h.CreatorVersion = 3 << 8 }

// header changes a byte of the last entry of an archive's directory.
func header(data []byte, at int, change func(byte) byte) []byte {
	at += bytes.LastIndex(data, []byte("PK\x01\x02"))
	data[at] = change(data[at])
	return data
}

// recorder is a Tree that records what it gets: folders with a slash, files with their contents.
func recorder(lenient bool) (t *Tree, got *[]string) {
	got = new([]string)
	return &Tree{
		FilesMax: 40, Lenient: lenient,
		File: func(name string, content io.Reader) error {
			text, err := io.ReadAll(content)
			*got = append(*got, name+"="+string(text))
			return err
		},
		Folder: func(name string) error { *got = append(*got, name+"/"); return nil },
	}, got
}

func ofZip(data []byte) (string, error) {
	t, got := recorder(false)
	err := t.FromZip(bytes.NewReader(data), int64(len(data)))
	return strings.Join(*got, " "), err
}

func TestAnArchiveBecomesItsFiles(t *testing.T) {
	got, err := ofZip(pack(t,
		item{Name: "bin/"}, item{Name: "bin/"}, item{Name: "./", Change: mode(fs.ModeDir | 0o700)},
		item{Name: "server", Text: "one"}, item{Name: "./maps/./deep/žluť.pak", Text: "two", Change: func(h *zip.FileHeader) { h.Method = zip.Store }},
		item{Name: `win\a.dll`, Text: "dll"}, item{Name: "__MACOSX/._server", Text: "x"}, item{Name: "empty"},
	))
	if want := "bin/ server=one maps/ maps/deep/ maps/deep/žluť.pak=two win/ win/a.dll=dll empty="; got != want || err != nil {
		t.Errorf("%q, want %q: %v", got, want, err)
	}
}

func TestAnArchiveIsRefused(t *testing.T) {
	exe := item{Name: "server", Text: "x"}
	many := []item{exe}
	for i := range 40 {
		many = append(many, item{Name: fmt.Sprint(i)})
	}
	bad := pack(t, item{Name: "server", Text: "hello hello", Change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	bad[bytes.Index(bad, []byte("hello"))]++
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":         {nil, "cannot be read"},
		"no zip":          {[]byte("#!/bin/sh"), "cannot be read"},
		"cut":             {pack(t, exe)[:60], "cannot be read"},
		"too many":        {pack(t, many...), "more than 40 files"},
		"too many, deep":  {pack(t, item{Name: strings.Repeat("a/", 30) + "b"}, item{Name: strings.Repeat("b/", 30) + "b"}), "more than 40 files"},
		"absolute":        {pack(t, item{Name: "/etc/passwd"}), "absolute"},
		"parent":          {pack(t, item{Name: "../server"}), "leaves"},
		"inner parent":    {pack(t, item{Name: "a/b/../../c"}), "leaves"},
		"backslash":       {pack(t, item{Name: `bin\server`, Change: unix}), "backslash"},
		"both slashes":    {pack(t, item{Name: `bin/a\server`}), "backslash"},
		"escape":          {pack(t, item{Name: `..\server`}), "leaves"},
		"absolute, DOS":   {pack(t, item{Name: `\server`}), "absolute"},
		"twice, DOS":      {pack(t, item{Name: `lib\a`}, item{Name: "lib/a"}), "twice"},
		"drive":           {pack(t, item{Name: "C:server"}), "drive"},
		"no name":         {pack(t, item{Name: ""}), "no name"},
		"dot":             {pack(t, item{Name: "."}), "no name"},
		"zero byte":       {pack(t, item{Name: "server\x00.txt"}), "zero byte"},
		"not UTF-8":       {pack(t, item{Name: "m\xff"}), "UTF-8"},
		"long path":       {pack(t, item{Name: strings.Repeat("a", 600)}), "longer than 512"},
		"deep path":       {pack(t, item{Name: strings.Repeat("a/", 40) + "b"}), "deep"},
		"link":            {pack(t, item{Name: "server", Text: "/bin/sh", Change: mode(fs.ModeSymlink | 0o777)}), "link"},
		"device":          {pack(t, item{Name: "server", Change: mode(fs.ModeDevice | fs.ModeCharDevice | 0o600)}), "neither"},
		"pipe":            {pack(t, item{Name: "server", Change: mode(fs.ModeNamedPipe | 0o600)}), "neither"},
		"encrypted":       {header(pack(t, exe), 8, func(b byte) byte { return b | 1 }), "encrypted"},
		"method":          {header(pack(t, exe), 10, func(byte) byte { return 12 }), "method 12"},
		"twice":           {pack(t, exe, exe), "twice"},
		"twice, cleaned":  {pack(t, exe, item{Name: "./server"}), "twice"},
		"case":            {pack(t, exe, item{Name: "Server"}), "case"},
		"case of folder":  {pack(t, item{Name: "lib/a"}, item{Name: "LIB/b"}), "case"},
		"file and folder": {pack(t, item{Name: "a"}, item{Name: "a/b"}), "a file and a folder"},
		"folder and file": {pack(t, item{Name: "a/b"}, item{Name: "a"}), "a file and a folder"},
		"bad checksum":    {bad, "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ofZip(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// sparse is an archive of zeros with an end.
type sparse struct {
	size int64
	end  []byte
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for i := range p {
		if at := off + int64(i) - (s.size - int64(len(s.end))); at >= 0 {
			p[i] = s.end[at]
		}
	}
	return len(p), nil
}

// An archive of 4 GiB may claim to have so many files that a gigabyte of memory would be reserved for them.
func TestTheMemoryOfADirectoryIsLimited(t *testing.T) {
	s := sparse{size: 4 << 30}
	le := binary.LittleEndian
	end := append([]byte("PK\x06\x06"), make([]byte, 52)...) // zip64 end of central directory record
	le.PutUint64(end[24:], 100_000_000)
	le.PutUint64(end[32:], 100_000_000)
	le.PutUint64(end[40:], 1000)
	end = append(end, "PK\x06\x07\x00\x00\x00\x00"...) // its locator
	end = le.AppendUint64(end, uint64(s.size)-22-20-56)
	end = append(end, 1, 0, 0, 0)
	end = append(end, "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"...)
	s.end = end
	tree, _ := recorder(false)
	if err := tree.FromZip(s, s.size); err == nil || !strings.Contains(err.Error(), "it claims to have 100000000 files; at most 40 are allowed") {
		t.Error(err)
	}
	var comments []item
	for i := range directoryMax/60_000 + 1 {
		comments = append(comments, item{Name: fmt.Sprint(i), Change: func(h *zip.FileHeader) { h.Comment = strings.Repeat("c", 60_000) }})
	}
	if _, err := ofZip(pack(t, comments...)); err == nil || !strings.Contains(err.Error(), "directory has more than") {
		t.Error(err)
	}
}

// folderOf makes a folder with files. A text that begins with -> makes a link.
func folderOf(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if to, link := strings.CutPrefix(text, "->"); link && err == nil {
			err = os.Symlink(to, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestAFolderBecomesItsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files           map[string]string
		strict, lenient string // the files, or what the error has
	}{
		"all":       {map[string]string{"bin/server": "exe", "alias": "->bin/server", "lib": "->bin"}, "alias=exe bin/ bin/server=exe lib/ lib/server=exe", "alias=exe bin/ bin/server=exe lib/ lib/server=exe"},
		"hidden":    {map[string]string{"a": "x", ".b": "y", ".c/d": "z"}, ".b=y .c/ .c/d=z a=x", "a=x"},
		"link out":  {map[string]string{"a": "x", "b": "->/etc/passwd"}, `"b": `, "a=x"},
		"loop":      {map[string]string{"a": "x", "b/up": "->.."}, `"b/up": it is a link to a folder that it is in`, "a=x b/ b/up/"},
		"backslash": {map[string]string{`a/b\c`: "x"}, `"a/b\\c": its path has a backslash`, `"a/b\\c": its path has a backslash`},
		"case":      {map[string]string{"a/b": "x", "a/B": "y"}, `"a/b": a/B and a/b differ in case only`, `"a/b": a/B and a/b differ in case only`},
	} {
		for lenient, want := range map[bool]string{false: c.strict, true: c.lenient} {
			tree, got := recorder(lenient)
			err := tree.FromFolder(folderOf(t, c.files))
			if said := strings.Join(*got, " "); err == nil && said != want || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, lenient %v: %q, %v; want %q", name, lenient, said, err, want)
			}
		}
	}
}

// FuzzZip: whatever an archive says, the paths are clean and each is there once.
func FuzzZip(f *testing.F) {
	f.Add(pack(f, item{Name: "bin/server", Text: "one"}, item{Name: "maps/"}))
	f.Add(pack(f, item{Name: "../server", Text: "x"}))
	f.Add(pack(f, item{Name: "server", Text: "/bin/sh", Change: mode(fs.ModeSymlink | 0o777)}))
	f.Add(pack(f, item{Name: `a\b`, Text: "x"}, item{Name: "A/b"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		seen := make(map[string]bool)
		tell := func(name string) error {
			if !fs.ValidPath(name) || !utf8.ValidString(name) || strings.ContainsAny(name, "\\\x00") || seen[strings.ToLower(name)] {
				t.Errorf("path %q", name)
			}
			seen[strings.ToLower(name)] = true
			return nil
		}
		tree := Tree{FilesMax: 20, File: func(name string, _ io.Reader) error { return tell(name) }, Folder: tell}
		_ = tree.FromZip(bytes.NewReader(data), int64(len(data)))
		if len(seen) > 20 {
			t.Errorf("%d files", len(seen))
		}
	})
}
