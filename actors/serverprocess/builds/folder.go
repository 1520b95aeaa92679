package builds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/filetree"
	"troupe/messages"
)

// Options configure a Folder. They must not change.
type Options struct {
	// Storage is the folder whose folders are the buckets of storage locations. Dir is the folder of the unpacked builds,
	// which nothing else may use.
	Storage, Dir string
	Limits       Limits
	// Server is what all processes of builds have: User and MemoryMax. The rest is empty.
	Server messages.GameServer
	// Owner is that user. Nil means the host's own, whose processes never run.
	Owner *Owner
	Log   zerolog.Logger
	// Report tells the catalog that a build is unpacked, or is not. It may be slow. It is called by the Folder's goroutine.
	Report func(ctx context.Context, q messages.BuildUnpacked) error
	// Tell sends an Unpacked to the owner. It must not block.
	Tell func(msg any)
}

// Owner is a user that owns files.
type Owner struct{ UID, GID uint32 }

// Unpacked says that a build is unpacked, and whether it can be used: Failed is empty.
type Unpacked struct {
	Build  messages.BuildID
	Failed string
}

// Folder keeps the files of builds.
type Folder struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1
	done   chan struct{}

	mu    sync.Mutex
	queue []func() // guarded by mu. Bounded by the number of builds and of their deletions, which the catalog limits
}

// New returns a Folder. It removes what an earlier process has not finished.
func New(o Options) *Folder {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Folder{o: o, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{})}
	f.do(f.clean)
	go f.loop()
	return f
}

func (f *Folder) do(work func()) {
	f.mu.Lock()
	f.queue = append(f.queue, work)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Folder) loop() {
	defer close(f.done)
	for {
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return
		}
		for f.ctx.Err() == nil {
			f.mu.Lock()
			var work func()
			if len(f.queue) > 0 {
				work, f.queue = f.queue[0], f.queue[1:]
			}
			f.mu.Unlock()
			if work == nil {
				break
			}
			work()
		}
	}
}

// Close ends the Folder's goroutine, and waits for it. What is being unpacked is given up.
func (f *Folder) Close() {
	f.cancel()
	<-f.done
}

// Want unpacks a build unless it is there. Unpacked follows.
func (f *Folder) Want(b *messages.Build) { f.do(func() { f.want(b) }) }

// Drop deletes the files of a build, and its archive if that was uploaded. No process may run from them.
func (f *Folder) Drop(id messages.BuildID) {
	f.do(func() {
		f.remove(f.path(id))
		uploaded := filepath.Join(f.o.Storage, messages.UploadsBucket, messages.UploadKey(id))
		if err := os.Remove(uploaded); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.o.Log.Error().Err(err).Msg("the archive of a build cannot be deleted")
		}
	})
}

// Keep deletes the files of all builds but these.
func (f *Folder) Keep(ids map[messages.BuildID]bool) {
	f.do(func() {
		for _, e := range f.entries() {
			if strings.HasPrefix(e.Name(), buildPrefix) && !ids[messages.BuildID(e.Name())] {
				f.remove(filepath.Join(f.o.Dir, e.Name()))
			}
		}
	})
}

// Server returns what a host starts for a fleet of a build, which must be unpacked.
func (f *Folder) Server(id messages.BuildID, of *messages.GameServer) *messages.GameServer {
	s := *of
	s.Path = filepath.Join(f.path(id), filepath.FromSlash(of.Path))
	s.User, s.MemoryMax = f.o.Server.User, f.o.Server.MemoryMax
	return &s
}

const (
	buildPrefix = "build-"
	newPrefix   = ".new-" // of folders that are not complete, or are being removed
)

func (f *Folder) path(id messages.BuildID) string { return filepath.Join(f.o.Dir, string(id)) }

func (f *Folder) entries() []fs.DirEntry {
	all, err := os.ReadDir(f.o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.o.Log.Error().Err(err).Msg("the folder of builds cannot be read")
	}
	return all
}

func (f *Folder) clean() {
	for _, e := range f.entries() {
		if strings.HasPrefix(e.Name(), newPrefix) {
			f.remove(filepath.Join(f.o.Dir, e.Name()))
		}
	}
}

// remove deletes a folder. It gets another name first, so that a folder with the name of a build is always complete.
func (f *Folder) remove(path string) {
	gone := path
	if !strings.HasPrefix(filepath.Base(path), newPrefix) {
		gone = filepath.Join(filepath.Dir(path), newPrefix+filepath.Base(path))
		if err := os.Rename(path, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
			gone = path
		}
	}
	if err := os.RemoveAll(gone); err != nil {
		f.o.Log.Error().Err(err).Str("path", gone).Msg("the files of a build cannot be deleted")
	}
}

// want makes the folder of a build. The catalog's record says whether another host has unpacked it, and what it found.
func (f *Folder) want(b *messages.Build) {
	_, err := os.Stat(f.path(b.ID))
	if err == nil && b.Digest != "" {
		f.o.Tell(Unpacked{Build: b.ID})
		return
	}
	if err == nil { // what was not reported is unpacked again
		f.remove(f.path(b.ID))
	}
	began := time.Now()
	q, err := f.unpack(b)
	if f.ctx.Err() != nil {
		return
	}
	if err == nil && b.Digest != "" && q.Digest != b.Digest {
		err = fmt.Errorf("%s/%s has other files on this host than those of which the build was made", b.Bucket, b.Key)
	}
	if err != nil {
		q = messages.BuildUnpacked{ID: b.ID, Failed: why(err)}
	}
	if reported := f.report(q); err == nil {
		err = reported
	}
	if f.ctx.Err() != nil {
		return
	}
	if err != nil {
		f.remove(f.path(b.ID))
		f.o.Log.Warn().Err(err).Str("build_id", string(b.ID)).Msg("build not unpacked")
		f.o.Tell(Unpacked{b.ID, why(err)})
		return
	}
	f.o.Log.Info().Str("build_id", string(b.ID)).Int64("bytes", q.Size).Dur("took_ms", time.Since(began)).Msg("build unpacked")
	f.o.Tell(Unpacked{Build: b.ID})
}

const whyMax = 600 // bytes of the reason of a failure

func why(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), whyMax)], "")
}

const reportPause = time.Second // between attempts to report

// report reports until the catalog answers.
func (f *Folder) report(q messages.BuildUnpacked) error {
	for {
		err := f.o.Report(f.ctx, q)
		var refused *messages.Error
		if err == nil || f.ctx.Err() != nil {
			return err
		}
		if errors.As(err, &refused) && (refused.Code == messages.Conflict || refused.Code == messages.NotFound) {
			return err
		}
		select {
		case <-time.After(reportPause):
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

// unpack writes the files of a build. On an error, nothing is left.
func (f *Folder) unpack(b *messages.Build) (q messages.BuildUnpacked, err error) {
	if _, err := os.Stat(f.o.Dir); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(f.o.Dir, 0o755), os.Chmod(f.o.Dir, 0o755)); err != nil { // whatever the umask is
			return q, err
		}
	}
	made, err := os.MkdirTemp(f.o.Dir, newPrefix)
	if err != nil {
		return q, err
	}
	defer func() {
		if err != nil {
			f.remove(made)
		}
	}()
	root, err := os.OpenRoot(made)
	if err != nil {
		return q, err
	}
	defer root.Close()
	w := newWriter(root, f.o.Owner, f.o.Limits, f.ctx.Done())
	if err := f.fill(w, b.Bucket, b.Key); err != nil {
		return q, err
	}
	if err := w.own("."); err != nil {
		return q, err
	}
	return messages.BuildUnpacked{ID: b.ID, Size: w.total, Digest: w.digest()}, os.Rename(made, f.path(b.ID))
}

// fill writes what a storage location names.
func (f *Folder) fill(w *writer, bucket, key string) error {
	if !filepath.IsLocal(bucket) || filepath.Base(bucket) != bucket || bucket == "." {
		return fmt.Errorf("there is no bucket %q", filetree.Clip(bucket))
	}
	from, err := os.OpenRoot(filepath.Join(f.o.Storage, bucket))
	if err != nil {
		return fmt.Errorf("there is no bucket %q on this host", filetree.Clip(bucket)) // without the path, which is none of the caller's business
	}
	defer from.Close()
	name := filepath.FromSlash(strings.TrimSuffix(key, "/"))
	if !filepath.IsLocal(name) {
		return fmt.Errorf("there is no %q in bucket %s", filetree.Clip(key), bucket)
	}
	info, err := from.Stat(name)
	if err != nil {
		return fmt.Errorf("there is no %q in bucket %s on this host", filetree.Clip(key), bucket)
	}
	if info.IsDir() {
		dir, err := from.OpenRoot(name)
		if err != nil {
			return err
		}
		defer dir.Close()
		return w.filled(w.tree.FromFolder(dir))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q in bucket %s is neither a zip archive nor a folder", filetree.Clip(key), bucket)
	}
	file, err := from.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return w.archive(file, info.Size())
}
