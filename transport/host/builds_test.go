package host

import (
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/launch"
)

func TestBuildsAreChecked(t *testing.T) {
	storage := t.TempDir()
	file := filepath.Join(storage, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Builds){
		"builds.storage: cannot be read":         func(b *Builds) { b.Storage = filepath.Join(storage, "none") },
		"builds.storage: must be a folder":       func(b *Builds) { b.Storage = file },
		"builds.ports: must be a range":          func(b *Builds) { b.Ports = "7900-7800" },
		"builds.memoryMax: ":                     func(b *Builds) { b.MemoryMax = 1000 },
		"builds.unpackedMax: ":                   func(b *Builds) { b.UnpackedMax = 1000 },
		"builds.allowUploaded: needs":            func(b *Builds) { b.AllowUploaded, b.Storage = true, "" },
		"builds.user: must be a user":            func(b *Builds) { b.AllowUploaded = true },
		"builds.user: user \"nobody-of-this-nam": func(b *Builds) { b.AllowUploaded, b.User = true, "nobody-of-this-name" },
		"builds.user: must not be root":          func(b *Builds) { b.AllowUploaded, b.User = true, "0" },
	} {
		c := Defaults()
		c.Builds.Storage, c.Builds.Ports = storage, "7800-7899"
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c.Builds)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	own, err := user.Current()
	if err != nil || launch.Supported() != nil {
		t.Skip("this system does not say who the host is, or no game servers are started on it:", err)
	}
	c := Defaults()
	c.Builds = Builds{Storage: storage, AllowUploaded: true, User: own.Username, UnpackedMax: 1 << 20}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "builds.user: must be another user than that of the host") {
		t.Error(err)
	}
}

func TestRulesOfBuilds(t *testing.T) {
	none, all := Builds{}, Builds{Storage: "/srv/storage", AllowUploaded: true, Ports: "7800-7899"}
	if r := none.rules(); !strings.Contains(r.Refused, "builds.storage") || !strings.Contains(r.FleetsRefused, "builds.allowUploaded") {
		t.Errorf("%+v", r)
	}
	if r := all.rules(); !reflect.DeepEqual(r, catalog.BuildRules{PortFrom: 7800, PortTo: 7899}) {
		t.Errorf("%+v", r)
	}
	for want, c := range map[string]Config{
		"/data/builds":  {Store: Store{Path: "/data/troupe.db"}},
		"/srv/unpacked": {Store: Store{Path: "/data/troupe.db"}, Builds: Builds{Dir: "/srv/unpacked"}},
		"":              {Store: Store{Memory: true}},
	} {
		if got, err := c.Builds.dir(&c.Store); err != nil || filepath.ToSlash(got) != want && filepath.VolumeName(got) == "" {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := reachable(filepath.Join(closed, "builds")); err == nil || !strings.Contains(err.Error(), closed) {
		t.Error(err)
	}
}
