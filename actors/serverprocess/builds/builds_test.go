package builds

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/filetree/filetreetest"
	"troupe/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type item = filetreetest.Item

var pack, mode = filetreetest.Pack, filetreetest.Mode

// unpackTo unpacks an archive into a new folder, which it returns, also after an error.
func unpackTo(tb testing.TB, data []byte, l Limits) (string, *writer, error) {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "build")
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	defer root.Close()
	w := newWriter(root, nil, l, nil)
	return dir, w, w.archive(bytes.NewReader(data), int64(len(data)))
}

// listed returns the files of a folder with their contents.
func listed(tb testing.TB, dir string) string {
	tb.Helper()
	var all []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all = append(all, filepath.ToSlash(name)+"="+string(text))
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestAnArchiveBecomesItsFiles(t *testing.T) {
	data := pack(t,
		item{Name: "bin/"}, item{Name: "bin/"}, item{Name: "./", Change: mode(fs.ModeDir | 0o700)},
		item{Name: "server", Text: "one"}, item{Name: "./maps/./deep/žluť.pak", Text: "two"},
		item{Name: `win\a.dll`, Text: "dll"}, item{Name: "__MACOSX/._server", Text: "x"}, item{Name: "empty"},
	)
	dir, first, err := unpackTo(t, data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, dir), "empty= maps/deep/žluť.pak=two server=one win/a.dll=dll"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if info, err := os.Stat(filepath.Join(dir, "server")); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the server cannot be executed: %v, %v", info.Mode(), err)
	}
	if first.total != 9 {
		t.Errorf("%d bytes", first.total)
	}
	// The same files in another order and with another compression are the same build; others are not.
	store := func(h *zip.FileHeader) { h.Method = zip.Store }
	_, same, err := unpackTo(t, pack(t, item{Name: "empty", Text: "", Change: store}, item{Name: "win/a.dll", Text: "dll", Change: store}, item{Name: "maps/deep/žluť.pak", Text: "two"}, item{Name: "server", Text: "one"}), Limits{})
	if err != nil || same.digest() != first.digest() {
		t.Errorf("%s, %s, %v", same.digest(), first.digest(), err)
	}
	for _, o := range [][]item{{{Name: "server", Text: "one"}}, {{Name: "serve", Text: "rone"}}, {{Name: "server", Text: "two"}}} {
		if _, other, err := unpackTo(t, pack(t, o...), Limits{}); err != nil || other.digest() == first.digest() {
			t.Errorf("%v: %v", o, err)
		}
	}
}

func TestAnArchiveIsRefused(t *testing.T) {
	exe := item{Name: "server", Text: "x"}
	small := Limits{UnpackedMax: 3 << 20, FilesMax: 40}
	many := []item{exe}
	for i := range small.FilesMax {
		many = append(many, item{Name: fmt.Sprint(i)})
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no files":      {pack(t, item{Name: "a/"}), "no files"},
		"only finder's": {pack(t, item{Name: "__MACOSX/._a"}), "no files"},
		"too many":      {pack(t, many...), "more than 40 files"},
		"too big":       {make([]byte, 3<<20+1), "at most 3145728"},
		"parent":        {pack(t, item{Name: "../server"}), "leaves"},
		"too large":     {pack(t, item{Name: "a", Text: noise(2 << 20), Change: func(h *zip.FileHeader) { h.Method = zip.Deflate }}, item{Name: "b", Text: strings.Repeat("b", 2<<20)}), "more than 3145728 bytes"},
		"empty folders": {pack(t, item{Name: strings.Repeat("a/", 30)}), "more than 100000 bytes together; each file and folder counts as 4096 at least"},
		"empty files":   {pack(t, many[:31]...), "more than 100000 bytes together"},
		"ratio":         {pack(t, item{Name: "a", Text: strings.Repeat("a", 2<<20)}), "more than 200 times"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := small
			if strings.HasPrefix(name, "empty") {
				limits.UnpackedMax = 100_000
			}
			dir, _, err := unpackTo(t, c.data, limits)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if around, _ := os.ReadDir(filepath.Dir(dir)); len(around) != 1 {
				t.Errorf("beside the folder: %v", around)
			}
		})
	}
}

// Declared sizes may be wrong, and entries may share their compressed bytes: what is unpacked counts.
func TestAnArchiveThatLiesAboutItsSizes(t *testing.T) {
	data := pack(t, item{Name: "a", Text: noise(1 << 20)})
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[at+24:], 10) // uncompressed size
	if _, _, err := unpackTo(t, data, Limits{}); err == nil {
		t.Error("accepted")
	}
	data = pack(t, item{Name: "a", Text: noise(900_000)}, item{Name: "b"})
	first, second := bytes.Index(data, []byte("PK\x01\x02")), bytes.LastIndex(data, []byte("PK\x01\x02"))
	copy(data[second+16:second+28], data[first+16:first+28]) // checksum and sizes
	copy(data[second+42:second+46], data[first+42:first+46]) // offset of its local header
	if _, w, err := unpackTo(t, data, Limits{}); err != nil || w.total != 1_800_000 {
		t.Errorf("%d bytes, %v", w.total, err)
	}
	if _, _, err := unpackTo(t, data, Limits{UnpackedMax: 1_200_000}); err == nil || !strings.Contains(err.Error(), "more than 1200000 bytes") {
		t.Error(err)
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

// storageOf makes a bucket with files. A text that begins with -> makes a link.
func storageOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "games", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// user is the owner of a Folder, with a catalog that answers as it is told.
type user struct {
	mu       sync.Mutex
	reported []messages.BuildUnpacked
	answers  func(messages.BuildUnpacked) error
	told     chan Unpacked
}

func folder(t *testing.T, storage, dir string, change ...func(*Options)) (*Folder, *user) {
	u := &user{told: make(chan Unpacked, 10)}
	o := Options{Storage: storage, Dir: dir, Server: messages.GameServer{User: "games", MemoryMax: 5}, Report: func(_ context.Context, q messages.BuildUnpacked) error {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.reported = append(u.reported, q)
		if u.answers != nil {
			return u.answers(q)
		}
		return nil
	}, Known: func(context.Context, messages.BuildID) error { return nil }, Tell: func(msg any) { u.told <- msg.(Unpacked) }}
	for _, c := range change {
		c(&o)
	}
	f := New(o)
	t.Cleanup(f.Close)
	return f, u
}

func TestBuildsOfFoldersAndArchives(t *testing.T) {
	storage := storageOf(t, map[string]string{
		"arena/bin/server": "exe", "arena/.config": "hidden", "arena/alias": "->bin/server", "arena/lib": "->bin",
		"out/server": "exe", "out/secret": "->/etc/passwd", "up/secret": "->../arena/bin/server", "loop/a": "x", "loop/again": "->.", "text": "no zip",
		"arena.zip": string(pack(t, item{Name: "bin/server", Text: "exe"})), "abroad": "->/etc",
	})
	dir := filepath.Join(t.TempDir(), "unpacked")
	f, u := folder(t, storage, dir)
	for i, c := range []struct{ bucket, key, want string }{
		{"games", "arena", ""},
		{"games", "arena/", ""},
		{"games", "arena.zip", ""},
		{"games", "arena/bin", ""},
		{"games", "out", "secret"},
		{"games", "up", "secret"},
		{"games", "loop", "a link to a folder that it is in"},
		{"games", "text", "cannot be read"},
		{"games", "nothing.zip", "there is no \"nothing.zip\" in bucket games"},
		{"games", "../games/arena", "there is no \"../games/arena\""},
		{"games", "/etc", "there is no"},
		{"games", "abroad", "there is no"},
		{"other", "arena", "there is no bucket \"other\""},
		{"..", "games", "there is no bucket"},
		{".", "games", "there is no bucket"},
		{"games/arena", "bin", "there is no bucket"},
	} {
		id := messages.BuildID(fmt.Sprint("build-", i))
		f.Want(&messages.Build{ID: id, Bucket: c.bucket, Key: c.key})
		got := <-u.told
		if got.Build != id || !strings.Contains(got.Failed, c.want) || (got.Failed == "") != (c.want == "") || strings.Contains(got.Failed, storage) {
			t.Errorf("%+v: %+v", c, got)
		}
		if _, err := os.Stat(filepath.Join(dir, string(id))); (err == nil) != (c.want == "") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := listed(t, filepath.Join(dir, "build-0")); got != ".config=hidden alias=exe bin/server=exe lib/server=exe" {
		t.Error(got)
	}
	if a, b := u.reported[0], u.reported[1]; a.Digest != b.Digest || a.Size != 15 || a.Failed != "" || u.reported[4].Failed == "" {
		t.Errorf("%+v", u.reported)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), buildPrefix) {
			t.Errorf("%s is left", e.Name())
		}
	}
	if got, want := f.Server("build-0", &messages.GameServer{Path: "bin/server", Args: []string{"x"}, User: "root"}), filepath.Join(dir, "build-0", "bin", "server"); got.Path != want || got.User != "games" || got.MemoryMax != 5 || got.Args[0] != "x" {
		t.Errorf("%+v", got)
	}
}

// names returns what is in a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// answer waits for the answer to a Want, and fails unless it has a text; empty means that the build can be used.
func (u *user) answer(t *testing.T, want string) {
	t.Helper()
	if got := <-u.told; (got.Failed == "") != (want == "") || !strings.Contains(got.Failed, want) {
		t.Errorf("%+v, want %q", got, want)
	}
}

// A folder is used only with the digest of the catalog's record.
func TestBuildsAfterARestart(t *testing.T) {
	storage := storageOf(t, map[string]string{"arena/server": "exe", "arena.zip": string(pack(t, item{Name: "other", Text: "exe"}))})
	dir := t.TempDir()
	for _, name := range []string{"build-cut", "notes"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, u := folder(t, storage, dir)
	f.Want(&messages.Build{ID: "build-1", Bucket: "games", Key: "arena"})
	u.answer(t, "")
	if got, want := names(t, dir), "build-1 build-1.digest notes"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	record := messages.Build{ID: "build-1", Bucket: "gone", Key: "gone", Digest: u.reported[0].Digest, Size: u.reported[0].Size}
	f, u = folder(t, storage, dir)
	f.Want(&record)
	u.answer(t, "")
	if len(u.reported) != 0 {
		t.Error("it was unpacked again")
	}
	for name, lose := range map[string]func() error{
		"no digest":      func() error { return os.Remove(filepath.Join(dir, "build-1.digest")) },
		"another digest": func() error { return os.WriteFile(filepath.Join(dir, "build-1.digest"), []byte("x 3 4096 -\n"), 0o600) },
		"half a digest":  func() error { return os.Truncate(filepath.Join(dir, "build-1.digest"), 73) },
		"no folder":      func() error { return os.RemoveAll(filepath.Join(dir, "build-1")) },
		"not reported":   func() error { record.Digest = ""; return nil },
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "build-1", "wrong"), 0o755), lose()); err != nil {
			t.Fatal(err)
		}
		again := record
		again.Bucket, again.Key = "games", "arena"
		f, u = folder(t, storage, dir)
		f.Want(&again)
		u.answer(t, "")
		if got := listed(t, filepath.Join(dir, "build-1")); got != "server=exe" || len(u.reported) != 1 {
			t.Errorf("%s: %s, %+v", name, got, u.reported)
		}
		if _, err := os.Stat(filepath.Join(dir, "build-1", "wrong")); err == nil {
			t.Errorf("%s: an old folder is left", name)
		}
		record.Digest = u.reported[0].Digest
	}
	// A digest that cannot be read is no reason to delete files.
	digest := filepath.Join(dir, "build-1.digest")
	if err := errors.Join(os.Rename(digest, digest+"x"), os.Mkdir(digest, 0o700)); err != nil {
		t.Fatal(err)
	}
	f.Want(&record)
	u.answer(t, "is a directory")
	if err := errors.Join(os.Remove(digest), os.Rename(digest+"x", digest)); err != nil {
		t.Fatal(err)
	}
	f.Want(&record)
	u.answer(t, "")
	// Other files than those of the record are deleted.
	other := record
	other.Bucket, other.Key, other.ID = "games", "arena.zip", "build-2"
	f.Want(&other)
	u.answer(t, "has other files on this host")
	u.mu.Lock()
	u.answers = func(messages.BuildUnpacked) error {
		return messages.Errorf(messages.Conflict, "others have other files")
	}
	u.mu.Unlock()
	f.Want(&messages.Build{ID: "build-3", Bucket: "games", Key: "arena"})
	u.answer(t, "others have other files")
	if got, want := names(t, dir), "build-1 build-1.digest notes"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Files that belong to the former user of the processes are made again, unless the host runs none at present.
func TestBuildsOfAnotherUser(t *testing.T) {
	storage, dir := storageOf(t, map[string]string{"arena/server": "exe"}), t.TempDir()
	b := &messages.Build{ID: "build-1", Bucket: "games", Key: "arena"}
	own := &Owner{uint32(os.Getuid()), uint32(os.Getgid())}
	for i, o := range []*Owner{nil, own, own, nil, own} {
		f, u := folder(t, storage, dir, func(to *Options) { to.Owner = o })
		f.Want(b)
		u.answer(t, "")
		if want := max(0, min(1, 2-i)); len(u.reported) != want {
			t.Errorf("start %d: it was unpacked %d times, want %d", i, len(u.reported), want)
		}
		if len(u.reported) > 0 {
			b.Digest, b.Size = u.reported[0].Digest, u.reported[0].Size
		}
	}
}

// leftovers makes files of five builds, unpacked and uploaded, and some that are of none.
func leftovers(t *testing.T) (storage, dir string) {
	storage, dir = storageOf(t, map[string]string{"arena/server": "exe"}), t.TempDir()
	bucket := filepath.Join(storage, messages.UploadsBucket)
	for _, path := range []string{"build-1/x", "build-1.digest", "build-2/x", "build-2.digest", "notes/x"} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"build-1.zip", "build-1.part-5", "build-2.zip", "build-2.upload/00001", "build-3.zip", "build-4.upload/00001", "notes"} {
		path = filepath.Join(bucket, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return storage, dir
}

func (f *Folder) has(t *testing.T, unpacked, uploaded string) {
	t.Helper()
	done := make(chan struct{})
	f.do("", func() { close(done) })
	<-done
	if got := names(t, f.o.Dir); got != unpacked {
		t.Errorf("unpacked: %s, want %s", got, unpacked)
	}
	if got := names(t, filepath.Join(f.o.Storage, messages.UploadsBucket)); got != uploaded {
		t.Errorf("uploaded: %s, want %s", got, uploaded)
	}
}

// What is unpacked and uploaded of a build goes with it. Its digest goes first: what is left if the host is killed is not complete.
func TestFilesOfDeletedBuilds(t *testing.T) {
	storage, dir := leftovers(t)
	f, _ := folder(t, storage, dir)
	f.Drop("build-2")
	f.has(t, "build-1 build-1.digest notes", "build-1.part-5 build-1.zip build-3.zip build-4.upload notes")
	var order []string
	for _, path := range f.found()["build-1"] {
		order = append(order, filepath.Base(path))
	}
	if got, want := strings.Join(order, " "), "build-1.digest build-1 build-1.zip build-1.part-5"; got != want {
		t.Errorf("deleted in this order: %s, want %s", got, want)
	}
}

// What is deleted before its turn is not unpacked.
func TestBuildsThatAreDeletedWhileTheyWait(t *testing.T) {
	storage, dir := storageOf(t, map[string]string{"arena/server": "exe"}), t.TempDir()
	f, u := folder(t, storage, dir)
	busy, free := make(chan struct{}), make(chan struct{})
	u.answers = func(messages.BuildUnpacked) error {
		close(busy)
		<-free
		return nil
	}
	f.Want(&messages.Build{ID: "build-0", Bucket: "games", Key: "arena"})
	<-busy
	for i := range 5 {
		id := messages.BuildID(fmt.Sprint("build-", i))
		f.Want(&messages.Build{ID: id, Bucket: "games", Key: "arena"})
		f.Drop(id)
	}
	close(free)
	done := make(chan struct{})
	f.do("", func() { close(done) })
	<-done
	if got := names(t, dir); got != "" || len(u.reported) != 1 || len(f.wanted) != 0 {
		t.Errorf("%s is there; %v was unpacked; %v is wanted", got, u.reported, f.wanted)
	}
}

// A host asks until it knows. It leaves alone what its owner has asked for: that is dropped after the last process.
func TestFilesOfBuildsThatWereDeletedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage, dir := leftovers(t)
		asked := 0
		f, u := folder(t, storage, dir, func(o *Options) {
			o.Known = func(_ context.Context, id messages.BuildID) error {
				switch asked++; {
				case asked < 3:
					return messages.Errorf(messages.Internal, "no leader")
				case id == "build-3":
					return nil
				}
				return messages.Errorf(messages.NotFound, "it was deleted")
			}
		})
		f.Want(&messages.Build{ID: "build-2", Bucket: "games", Key: "arena"})
		u.answer(t, "")
		time.Sleep(3 * askPause)
		synctest.Wait()
		f.has(t, "build-2 build-2.digest notes", "build-2.upload build-2.zip build-3.zip notes")
		if asked != 6 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func TestAllBuildsTogetherAreLimited(t *testing.T) {
	storage, dir := storageOf(t, map[string]string{"ten/server": "0123456789", "one/server": "0"}), t.TempDir()
	f, u := folder(t, storage, dir, func(o *Options) { o.Limits.UnpackedMax = 4096 })
	for i := range messages.BuildsTimes {
		f.Want(&messages.Build{ID: messages.BuildID(fmt.Sprint("build-", i)), Bucket: "games", Key: "ten"})
		u.answer(t, "")
	}
	f.Want(&messages.Build{ID: "build-more", Bucket: "games", Key: "one"})
	u.answer(t, "the builds of this host have more than 102400 bytes together: delete some, and create this build again")
	f.Drop("build-7")
	f.Want(&messages.Build{ID: "build-more", Bucket: "games", Key: "one"})
	u.answer(t, "")
}

// Callers of the API see why a build has failed, but no path of the host.
func TestFailuresNameNoPathOfTheHost(t *testing.T) {
	storage := storageOf(t, map[string]string{"arena/server": "exe"})
	dir := filepath.Join(storage, "games", "arena", "server", "builds") // below a file
	f, u := folder(t, storage, dir)
	f.Want(&messages.Build{ID: "build-1", Bucket: "games", Key: "arena"})
	got := <-u.told
	if got.Failed == "" || strings.Contains(got.Failed, storage) || len(u.reported) != 1 || u.reported[0].Failed != got.Failed {
		t.Errorf("%+v, %+v", got, u.reported)
	}
}

// FuzzArchive: whatever an archive says, nothing is written outside of the folder or over the limits, and links and devices
// are not made.
func FuzzArchive(f *testing.F) {
	f.Add(pack(f, item{Name: "bin/server", Text: "one"}, item{Name: "maps/"}))
	f.Add(pack(f, item{Name: "../server", Text: "x"}))
	f.Add(pack(f, item{Name: "server", Text: "/bin/sh", Change: mode(fs.ModeSymlink | 0o777)}))
	f.Add(pack(f, item{Name: `a\b`, Text: "x"}, item{Name: "A/b"}))
	f.Add(pack(f, item{Name: "a", Text: strings.Repeat("a", 5000)}))
	limits := Limits{UnpackedMax: 10 * entryMin, FilesMax: 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, _, err := unpackTo(t, data, limits)
		if around, _ := os.ReadDir(filepath.Dir(dir)); len(around) != 1 {
			t.Fatalf("beside the folder: %v", around)
		}
		total, files := int64(0), -1
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
				return errors.Join(err, fmt.Errorf("%s is %v", path, info.Mode()))
			}
			if files++; !info.IsDir() {
				total += info.Size()
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if max(total, int64(files)*entryMin) > limits.UnpackedMax || files > limits.FilesMax {
			t.Fatalf("%d bytes in %d files: %v", total, files, err)
		}
	})
}
