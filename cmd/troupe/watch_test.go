package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script/bundle"
)

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) func() {
		return func() {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	file("a.js", "one")()
	file(".git/x", "")()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var count atomic.Int32
		go watchFiles(ctx, dir, time.Second, func() { count.Add(1) })
		time.Sleep(time.Second / 2)
		for _, step := range []struct {
			what string
			do   func()
			want int // total calls after this step
		}{
			{"nothing", func() {}, 0},
			{"another size", file("a.js", "and two"), 1},
			{"another time", func() {
				if err := os.Chtimes(filepath.Join(dir, "a.js"), time.Time{}, time.Unix(1, 0)); err != nil {
					t.Fatal(err)
				}
			}, 2},
			{"a new file in a folder", file("sub/b.json", "{}"), 3},
			{"a hidden file", file(".a.js.swp", "x"), 3},
			{"a file in a hidden folder", file(".git/y", "x"), 3},
			{"a log", file("host.log", "x"), 3},
			{"a log in a folder", file("sub/nohup.out", "x"), 3},
			{"a file goes", func() {
				if err := os.Remove(filepath.Join(dir, "sub/b.json")); err != nil {
					t.Fatal(err)
				}
			}, 4},
			{"all goes", func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}, 5},
			{"it is back", file("a.js", "again"), 6},
		} {
			step.do()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if count := int(count.Load()); count != step.want {
				t.Fatalf("%s: called %d times, want %d", step.what, count, step.want)
			}
		}
		// While the files keep changing, changed is not called.
		for i := range 5 {
			file("a.js", "abcdefg"[:i+1])()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if count.Load() != 6 {
			t.Fatalf("called while the file was written")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if count := count.Load(); count != 7 {
			t.Fatalf("called %d times", count)
		}
	})
}

// A single file, such as an archive, can be watched.
func TestWatchOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "game.zip")
	if err := os.WriteFile(path, []byte("PK"), 0o644); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var count atomic.Int32
		go watchFiles(ctx, path, time.Second, func() { count.Add(1) })
		time.Sleep(time.Second / 2)
		if err := os.WriteFile(path, []byte("PK and more"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "other"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if count := count.Load(); count != 1 {
			t.Fatalf("called %d times", count)
		}
	})
}

// Symbolic links are followed: the watched folder, and files in it.
func TestWatchFollowsLinks(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "game")
	elsewhere := filepath.Join(t.TempDir(), "shared.js")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(real, "a.js"), "one")
	write(elsewhere, "one")
	for to, from := range map[string]string{real: link, elsewhere: filepath.Join(real, "b.js")} {
		if err := os.Symlink(to, from); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var count atomic.Int32
		go watchFiles(ctx, link, time.Second, func() { count.Add(1) })
		time.Sleep(time.Second / 2)
		for i, path := range []string{filepath.Join(real, "a.js"), elsewhere} {
			write(path, "and two")
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := int(count.Load()); got != i+1 {
				t.Errorf("after %d changes it was called %d times", i+1, got)
			}
		}
	})
}

// All files of a script are watched, even the last one by name: packages precede it.
func TestAllFilesOfAScriptAreWatched(t *testing.T) {
	long(t)
	dir := t.TempDir()
	packages := filepath.Join(dir, "node_modules")
	if err := os.Mkdir(packages, 0o755); err != nil {
		t.Fatal(err)
	}
	const others = bundle.FilesMax - 2 // a folder counts as well
	for i := range others {
		if err := os.WriteFile(filepath.Join(packages, strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := filepath.Join(dir, "server.js")
	if err := os.WriteFile(server, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.FromPath(server, bundle.Limits{}); err != nil {
		t.Fatal(err)
	}
	if seen := look(dir); len(seen) != others+1 || seen[server].size != 1 {
		t.Errorf("%d of %d files are seen, server.js as %+v", len(seen), others+1, seen[server])
	}
}
