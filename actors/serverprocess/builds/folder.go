package builds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	// Known asks whether a build exists; if not, the error is NotFound, and Conflict if its record may be damaged. It may be slow.
	// It is called by a goroutine of the Folder, for the files that are there at the start.
	Known func(ctx context.Context, id messages.BuildID) error
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
	work   sync.WaitGroup
	wanted map[messages.BuildID]bool // owned by loop

	mu    sync.Mutex
	queue []task // guarded by mu. One for each build at most, and one for each that was deleted while loop was busy
}

type task struct {
	build messages.BuildID // empty: of all
	do    func()
}

// New returns a Folder. It deletes what an earlier process has not finished, and the files of builds that were deleted
// meanwhile.
func New(o Options) *Folder {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Folder{o: o, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), wanted: make(map[messages.BuildID]bool)}
	f.do("", f.clean)
	f.work.Go(f.loop)
	return f
}

func (f *Folder) do(id messages.BuildID, work func()) {
	f.mu.Lock()
	f.queue = append(f.queue, task{id, work})
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Folder) loop() {
	for {
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return
		}
		for f.ctx.Err() == nil {
			f.mu.Lock()
			var next task
			if len(f.queue) > 0 {
				next, f.queue = f.queue[0], f.queue[1:]
			}
			f.mu.Unlock()
			if next.do == nil {
				break
			}
			next.do()
		}
	}
}

// Close ends the Folder's goroutines, and waits for them. What is being unpacked is given up.
func (f *Folder) Close() {
	f.cancel()
	f.work.Wait()
}

// Want unpacks a build unless it is there. Unpacked follows, unless Drop comes before it.
func (f *Folder) Want(b *messages.Build) { f.do(b.ID, func() { f.want(b) }) }

// Drop deletes the files of a build, and what has been uploaded for it. No process may run from them. A build that waits to
// be unpacked is not.
func (f *Folder) Drop(id messages.BuildID) {
	f.mu.Lock()
	f.queue = slices.DeleteFunc(f.queue, func(t task) bool { return t.build == id })
	f.mu.Unlock()
	f.do(id, func() { f.drop(id) })
}

// sweep deletes the files of builds that were deleted while the host was away. A host of a cluster does not know all builds
// when it starts.
func (f *Folder) sweep(left []messages.BuildID) {
	for _, id := range left {
		err := f.ask(func() error { return f.o.Known(f.ctx, id) })
		if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			f.do("", func() {
				if !f.wanted[id] { // otherwise the owner calls Drop, after the last process
					f.drop(id)
				}
			})
		}
	}
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
	// digestSuffix is the end of the name of a file that says what is in the folder of a build, and who owns it. It is written
	// last, so a folder without it is not complete.
	digestSuffix = ".digest"
)

func (f *Folder) path(id messages.BuildID) string { return filepath.Join(f.o.Dir, string(id)) }

// found returns the builds that have files here, and these, in the order in which they are deleted: the digest before what it
// says is complete. The names of unpacked files and of uploads are ids, or begin with one and a dot.
func (f *Folder) found() map[messages.BuildID][]string {
	all := make(map[messages.BuildID][]string)
	for _, dir := range []string{f.o.Dir, filepath.Join(f.o.Storage, messages.UploadsBucket)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.o.Log.Error().Err(err).Msg("a folder of builds cannot be read")
		}
		for _, e := range slices.Backward(entries) {
			if name, _, _ := strings.Cut(e.Name(), "."); strings.HasPrefix(name, buildPrefix) {
				id := messages.BuildID(name)
				all[id] = append(all[id], filepath.Join(dir, e.Name()))
			}
		}
	}
	return all
}

// clean removes what is not complete, and has sweep look after the rest.
func (f *Folder) clean() {
	left := slices.Collect(maps.Keys(f.found()))
	f.work.Go(func() { f.sweep(left) })
	for _, id := range left {
		if _, err := os.Stat(f.path(id) + digestSuffix); errors.Is(err, fs.ErrNotExist) {
			f.remove(f.path(id))
		}
	}
}

func (f *Folder) drop(id messages.BuildID) {
	delete(f.wanted, id)
	f.remove(f.found()[id]...)
}

// remove deletes files and folders in order. It ends at one that stays.
func (f *Folder) remove(paths ...string) {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			f.o.Log.Error().Err(err).Str("path", path).Msg("the files of a build cannot be deleted")
			return
		}
	}
}

// seal is what a digest file says of the files of a build.
type seal struct {
	digest      string
	size, taken int64  // bytes, and counted bytes (Limits.UnpackedMax)
	owner       string // "-" or UID:GID
}

// String returns the content of the digest file.
func (s seal) String() string { return fmt.Sprintln(s.digest, s.size, s.taken, s.owner) }

// sealOf reads the digest file of a build. It returns the zero seal if there is none that is complete.
func (f *Folder) sealOf(id messages.BuildID) (s seal, err error) {
	text, err := os.ReadFile(f.path(id) + digestSuffix)
	if err != nil {
		return seal{}, unless(err, fs.ErrNotExist)
	}
	if _, err := fmt.Sscan(string(text), &s.digest, &s.size, &s.taken, &s.owner); err != nil || s.String() != string(text) {
		return seal{}, nil
	}
	return s, nil
}

// unless returns err, or nil if it is the one expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (f *Folder) owner() string {
	if f.o.Owner == nil {
		return "-"
	}
	return fmt.Sprintf("%d:%d", f.o.Owner.UID, f.o.Owner.GID)
}

// intact reports whether the files of a build are here, as the catalog's record says, and belong to the owner. A host that
// runs no processes leaves the files to whoever owns them, for the day when it does.
func (f *Folder) intact(b *messages.Build) (bool, error) {
	s, err := f.sealOf(b.ID)
	if err != nil || s.digest == "" || s.digest != b.Digest || s.size != b.Size || f.o.Owner != nil && s.owner != f.owner() {
		return false, err
	}
	_, err = os.Stat(f.path(b.ID))
	return err == nil, unless(err, fs.ErrNotExist)
}

// write writes the digest file of a build whose files are durable, and makes it durable.
func (f *Folder) write(id messages.BuildID, s seal) error {
	to, err := os.OpenFile(f.path(id)+digestSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = to.WriteString(s.String())
	return errors.Join(err, to.Sync(), to.Close(), syncFolder(os.Open(f.o.Dir)))
}

// unpacked returns how many counted bytes the unpacked builds have.
func (f *Folder) unpacked() (all int64) {
	for id := range f.found() {
		s, _ := f.sealOf(id) // want says what is wrong with it
		all += s.taken
	}
	return all
}

// want makes the folder of a build. The catalog's record says whether another host has unpacked it, and what it found.
func (f *Folder) want(b *messages.Build) {
	f.wanted[b.ID] = true
	there, err := f.intact(b)
	if err != nil && b.Digest != "" { // of the disk, or too many open files: what is there may be good
		f.o.Log.Error().Err(err).Str("build_id", string(b.ID)).Msg("the files of a build cannot be checked")
		f.o.Tell(Unpacked{b.ID, why(err)})
		return
	}
	if there {
		f.o.Tell(Unpacked{Build: b.ID})
		return
	}
	f.remove(f.path(b.ID)+digestSuffix, f.path(b.ID))
	began := time.Now()
	s, err := f.unpack(b)
	if f.ctx.Err() != nil {
		return
	}
	if err == nil && b.Digest != "" && s.digest != b.Digest {
		err = fmt.Errorf("%s/%s has other files on this host than those of which the build was made", b.Bucket, b.Key)
	}
	q := messages.BuildUnpacked{ID: b.ID, Size: s.size, Digest: s.digest}
	if err != nil {
		f.remove(f.path(b.ID)) // the report may take long
		q = messages.BuildUnpacked{ID: b.ID, Failed: why(err)}
	}
	reported := f.ask(func() error { return f.o.Report(f.ctx, q) })
	if err == nil {
		err = reported
	}
	if err == nil {
		err = f.write(b.ID, s)
	}
	if f.ctx.Err() != nil {
		return
	}
	if err != nil {
		f.remove(f.path(b.ID)+digestSuffix, f.path(b.ID))
		f.o.Log.Warn().Err(err).Str("build_id", string(b.ID)).Msg("build not unpacked")
		f.o.Tell(Unpacked{b.ID, why(err)})
		return
	}
	f.o.Log.Info().Str("build_id", string(b.ID)).Int64("bytes", q.Size).Dur("took_ms", time.Since(began)).Msg("build unpacked")
	f.o.Tell(Unpacked{Build: b.ID})
}

const whyMax = 600 // bytes of the reason of a failure

// why returns an error for callers of the API, who see no path of the host.
func why(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) && filepath.IsAbs(p.Path) {
		err = fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), whyMax)], "")
}

const askPause = time.Second // between attempts to reach the catalog

// ask calls a question until the catalog answers.
func (f *Folder) ask(question func() error) error {
	for {
		err := question()
		var refused *messages.Error
		if err == nil || f.ctx.Err() != nil || errors.As(err, &refused) && (refused.Code == messages.Conflict || refused.Code == messages.NotFound) {
			return err
		}
		select {
		case <-time.After(askPause):
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

// unpack writes the files of a build, and makes them durable.
func (f *Folder) unpack(b *messages.Build) (s seal, err error) {
	if _, err := os.Stat(f.o.Dir); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(f.o.Dir, 0o755), os.Chmod(f.o.Dir, 0o755)); err != nil { // whatever the umask is
			return s, err
		}
	}
	if err := os.Mkdir(f.path(b.ID), 0o700); err != nil {
		return s, err
	}
	root, err := os.OpenRoot(f.path(b.ID))
	if err != nil {
		return s, err
	}
	defer root.Close()
	dir, err := root.Open(".") // before all writes: it is told of what of them fails
	if err != nil {
		return s, err
	}
	defer dir.Close()
	w := newWriter(root, f.o.Owner, f.o.Limits, f.ctx.Done())
	if all := w.limits.UnpackedMax * messages.BuildsTimes; all-f.unpacked() < w.most {
		w.most, w.over = all-f.unpacked(), fmt.Errorf("the builds of this host have more than %d bytes together: delete some, and create this build again", all)
	}
	if err := f.fill(w, b.Bucket, b.Key); err != nil {
		return s, err
	}
	if err := w.own("."); err != nil {
		return s, err
	}
	return seal{w.digest(), w.total, w.taken, f.owner()}, w.sync(dir)
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
