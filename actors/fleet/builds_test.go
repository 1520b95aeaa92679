package fleet_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/builds"
	"troupe/actors/stage"
	"troupe/messages"
)

// builder is a host with a storage that has the folder games/arena.
type builder struct {
	*host
	storage, dir string
	ref          atomic.Pointer[stage.Ref] // nil while the registry starts
}

func (b *builder) restart() {
	b.ref.Store(nil)
	b.host.restart()
	b.ref.Store(b.registry)
}

func building(t *testing.T, test func(b *builder)) {
	b := &builder{storage: t.TempDir(), dir: filepath.Join(t.TempDir(), "builds")}
	if err := os.MkdirAll(filepath.Join(b.storage, "games", "arena"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.storage, "games", "arena", "server"), []byte("exe"), 0o600); err != nil {
		t.Fatal(err)
	}
	hosted(t, func(o *fleet.Options) {
		o.Builds = &builds.Options{Storage: b.storage, Dir: b.dir, Report: func(ctx context.Context, q messages.BuildUnpacked) error {
			return messages.Run(ctx, b, q)
		}, Known: func(ctx context.Context, id messages.BuildID) error {
			_, err := messages.Do(ctx, b, messages.BuildQuery{ID: id})
			return err
		}}
	}, func(h *host) {
		b.host = h
		b.ref.Store(h.registry)
		test(b)
	})
}

// Do implements messages.Doer.
func (b *builder) Do(_ context.Context, q messages.Request) (any, error) {
	for b.ref.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	answer := make(chan struct{})
	var a any
	var failed error
	b.ref.Load().Send(q, func(got any, err error) {
		a, failed = got, err
		close(answer)
	})
	<-answer
	return a, failed
}

// settled waits until all builds are unpacked, which takes real work on files.
func (b *builder) settled() {
	synctest.Wait()
	time.Sleep(time.Second)
	synctest.Wait()
}

func (b *builder) build(id messages.BuildID) *messages.Build {
	b.Helper()
	return assert.Value(request[[]*messages.Build](b.host, messages.BuildQuery{ID: id}))(b)[0]
}

func (b *builder) create(key string) *messages.Build {
	b.Helper()
	made := assert.Value(request[*messages.Build](b.host, messages.CreateBuild{Bucket: "games", Key: key}))(b)
	b.settled()
	return b.build(made.ID)
}

func (b *builder) fleetOf(build messages.BuildID) messages.FleetID {
	b.Helper()
	f := assert.Value(request[*messages.Fleet](b.host, messages.CreateFleet{BuildID: build, Locations: []string{"eu-test-1"}, LaunchPath: "/local/game/server"}))(b)
	return f.ID
}

func (b *builder) there(id messages.BuildID) bool {
	text, err := os.ReadFile(filepath.Join(b.dir, string(id), "server"))
	return err == nil && string(text) == "exe"
}

// inError fails unless a fleet is in ERROR and has an event.
func (b *builder) inError(id messages.FleetID, code, text string) {
	b.Helper()
	for _, f := range assert.Value(request[[]*messages.Fleet](b.host, messages.FleetQuery{}))(b) {
		if f.ID == id && f.Status != messages.FleetErrored {
			b.Errorf("the fleet is %v", f.Status)
		}
	}
	all := assert.Value(request[[]messages.FleetEvent](b.host, messages.FleetEventQuery{ID: id}))(b)
	for _, e := range all {
		if e.Code == code && strings.Contains(e.Message, text) {
			return
		}
	}
	b.Errorf("no event %s says %q: %+v", code, text, all)
}

// API-66.
func TestBuildsAreUnpackedAndDeleted(t *testing.T) {
	building(t, func(b *builder) {
		one, two, none := b.create("arena"), b.create("arena/"), b.create("nothing")
		assert.Equal(t, "status", one.Status.String()+" "+two.Status.String()+" "+none.Status.String(), "READY READY FAILED")
		assert.Equal(t, "why", none.Why, `there is no "nothing" in bucket games on this host`)
		assert.Equal(t, "size", one.Size, 3)
		if !b.there(one.ID) || !b.there(two.ID) {
			t.Error("the files are not there")
		}
		if _, err := request[messages.None](b.host, messages.DeleteBuild{ID: two.ID}); err != nil {
			t.Error(err)
		}
		b.settled()
		if !b.there(one.ID) || b.there(two.ID) {
			t.Error("the wrong files were deleted")
		}
		// A restart unpacks what is lost, and deletes what belongs to no build.
		if err := os.Rename(filepath.Join(b.dir, string(one.ID)), filepath.Join(b.dir, "build-of-nobody")); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.settled()
		if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 2 || !b.there(one.ID) {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// API-67.
func TestFleetsOfBuildsThatAHostCannotRun(t *testing.T) {
	building(t, func(b *builder) {
		one := b.create("arena")
		id := b.fleetOf(one.ID)
		if err := os.RemoveAll(filepath.Join(b.dir, string(one.ID))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.storage, "games", "arena", "server"), []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.settled()
		b.inError(id, "FLEET_BINARY_DOWNLOAD_FAILED", "has other files on this host")
		assert.Equal(t, "the build", b.build(one.ID).Status, messages.BuildReady)

		b.options.BuildRules = catalog.BuildRules{FleetsRefused: "not allowed any more"}
		b.restart()
		b.settled()
		b.inError(id, "GENERIC_EVENT", "not allowed any more")

		b.options.BuildRules, b.options.Builds = catalog.BuildRules{}, nil
		b.restart()
		b.inError(id, "FLEET_BINARY_DOWNLOAD_FAILED", "no folder for builds")
	})
}

// An operator may take ports away that fleets of builds have: for a listener, or a game server of the configuration.
func TestFleetsOfBuildsWithPortsThatAreNotAllowedAnyMore(t *testing.T) {
	building(t, func(b *builder) {
		b.options.BuildRules = catalog.BuildRules{PortFrom: 7000, PortTo: 7999}
		b.restart()
		b.settled()
		one := b.create("arena")
		f := assert.Value(request[*messages.Fleet](b.host, messages.CreateFleet{
			BuildID: one.ID, Locations: []string{"eu-test-1"}, LaunchPath: "/local/game/server", Ports: []messages.Port{{From: 7000, To: 7009, Range: "::/0", Protocol: "UDP"}},
		}))(b)
		b.options.BuildRules.PortFrom = 7001
		b.restart()
		b.settled()
		b.inError(f.ID, "GENERIC_EVENT", "its operator allows 7001 to 7999")
	})
}
