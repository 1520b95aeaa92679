package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/child"
	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/builds"
	"troupe/actors/serverprocess/launch"
	"troupe/messages"
	"troupe/transport/uploads"
)

// builds checks the settings of builds. Nobody but the operator decides that programs of others run on the machine, and
// they never run as a user that could change the host.
func (v *checks) builds(c *Config) {
	b := &c.Builds
	if b.Storage != "" {
		info, err := os.Stat(b.Storage)
		switch {
		case err != nil:
			v.that("builds.storage", false, "cannot be read: "+err.Error())
		default:
			v.that("builds.storage", info.IsDir(), "must be a folder")
		}
	}
	_, _, ok := portRange(b.Ports)
	v.that("builds.ports", ok, "must be a range like 7800-7999, from 1 to 60000")
	v.that("builds.memoryMax", b.MemoryMax == 0 || b.MemoryMax >= 1<<20, "must be at least 1048576, or 0")
	v.that("builds.unpackedMax", b.UnpackedMax >= 1<<20, "must be at least 1048576")
	if !b.AllowUploaded {
		return
	}
	v.err("builds.allowUploaded", launch.Supported())
	v.that("builds.allowUploaded", b.Storage != "", "needs builds.storage")
	if b.User == "" {
		v.that("builds.user", false, "must be a user for programs of others, if builds.allowUploaded is set")
		return
	}
	v.err("builds.user", launch.CheckUser(b.User))
	if o, err := ownerOf(b.User); err == nil {
		v.that("builds.user", o.UID != 0, "must not be root")
		v.that("builds.user", int(o.UID) != os.Geteuid(), "must be another user than that of the host, whose keys and store it could read")
		for i, f := range c.Fleets {
			other, err := ownerOf(f.Server.User)
			v.that("builds.user", err != nil || other.UID != o.UID, fmt.Sprintf("must be another user than that of fleets[%d].server: it could end those processes", i))
		}
		v.that("builds.user", int64(o.UID) != int64(c.Script.Node.UID), "must be another user than script.node.uid: it could end those processes")
	}
}

// uploads returns what serves uploads of builds before others, and what makes tokens for them. The latter is nil if the
// host takes none.
func (h *Host) uploads(c *Config, key []byte, log zerolog.Logger) (serve func(http.Handler) http.Handler, token func(messages.BuildID) string) {
	if !c.Builds.AllowUploaded {
		return func(next http.Handler) http.Handler { return next }, nil
	}
	u := uploads.New(uploads.Options{
		Dir: filepath.Join(c.Builds.Storage, messages.UploadsBucket), SizeMax: int64(c.Builds.UnpackedMax), Key: key, Now: time.Now, Log: log,
		Awaits: func(ctx context.Context, id messages.BuildID) error {
			found, err := messages.Do(ctx, h.Doer(), messages.BuildQuery{ID: id})
			if err == nil && (len(found) == 0 || !found[0].Awaits) {
				err = messages.Errorf(messages.Conflict, "build %s takes no upload any more", id)
			}
			return err
		},
		Uploaded: func(ctx context.Context, id messages.BuildID, name string) error {
			err := messages.Run(ctx, h.Doer(), messages.BuildUploaded{ID: id, Key: name})
			if errors.Is(err, &messages.Error{Code: messages.Conflict}) { // another archive is that of the build, or its record is damaged
				if _, unread := messages.Do(ctx, h.Doer(), messages.BuildQuery{ID: id}); unread != nil {
					return messages.Errorf(messages.Unavailable, "%v", unread)
				}
			}
			return err
		},
	})
	h.bucket = u
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, uploads.Path) {
				u.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}, u.Token
}

// ownerOf returns a user by its name or number.
func ownerOf(name string) (*builds.Owner, error) {
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return nil, err
		}
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	if errUID != nil || errGID != nil {
		return nil, fmt.Errorf("user %q has no number", name)
	}
	return &builds.Owner{UID: uint32(uid), GID: uint32(gid)}, nil
}

// rules returns what callers of the API may do with builds.
func (b *Builds) rules() (r catalog.BuildRules) {
	if b.Storage == "" {
		r.Refused = "this host takes no builds: its operator sets builds.storage"
	}
	if !b.AllowUploaded {
		r.FleetsRefused = "this host runs no builds: only its operator says what runs on it, and sets builds.allowUploaded and builds.user for that"
	}
	r.PortFrom, r.PortTo, _ = portRange(b.Ports)
	return r
}

// dir returns the folder of unpacked builds. It is beside the store, unless it is configured.
func (b *Builds) dir(s *Store) (string, error) {
	switch {
	case b.Dir != "":
		return filepath.Abs(b.Dir)
	case s.Path != "":
		return filepath.Abs(filepath.Join(filepath.Dir(s.Path), "builds"))
	}
	return "", nil
}

// reachable returns an error if another user cannot enter a folder, which need not exist.
func reachable(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.Mode()&0o001 == 0 {
			return fmt.Errorf("nobody but its owner can enter %s, so builds.user cannot run builds in it: set builds.dir to another folder", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

const buildsPrefix = "troupe-builds-" // of temporary folders

// unpacking returns how this host unpacks builds. It returns nil if it has none.
func (h *Host) unpacking(c *Config) (*builds.Options, error) {
	b := &c.Builds
	if b.Storage == "" {
		return nil, nil
	}
	dir, err := b.dir(&c.Store)
	if err != nil {
		return nil, err
	}
	if dir == "" { // the store is in memory, too
		for _, left := range child.LeftFolders(os.TempDir(), buildsPrefix) { // by a host that was killed
			left.Remove()
		}
		if h.buildsDir, err = child.NewFolder(os.TempDir(), buildsPrefix, 0); err != nil {
			return nil, err
		}
		dir = h.buildsDir.Path
		if err := os.Chmod(dir, 0o755); err != nil {
			return nil, err
		}
	}
	when := func(ctx context.Context, do func() error) error {
		select {
		case <-h.started: // there is a Doer
			return do()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	o := &builds.Options{
		Storage: b.Storage, Dir: dir, Limits: builds.Limits{UnpackedMax: int64(b.UnpackedMax)},
		Server: messages.GameServer{User: b.User, MemoryMax: int64(b.MemoryMax)},
		Report: func(ctx context.Context, q messages.BuildUnpacked) error {
			return when(ctx, func() error { return messages.Run(ctx, h.Doer(), q) })
		},
		Known: func(ctx context.Context, id messages.BuildID) error {
			return when(ctx, func() error { // a node of a cluster that lacks a record asks again when it has all
				_, err := messages.Do(ctx, h.Doer(), messages.BuildQuery{ID: id})
				return err
			})
		},
	}
	if !b.AllowUploaded {
		return o, nil
	}
	if o.Owner, err = ownerOf(b.User); err != nil {
		return nil, err
	}
	return o, reachable(dir)
}
