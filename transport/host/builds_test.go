package host

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/launch"
	"troupe/messages"
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

// Processes of one user can end each other, so the programs of callers share none with others of the host.
func TestTheUserOfBuildsIsNobodyElses(t *testing.T) {
	other, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	uid, err := strconv.Atoi(other.Uid)
	if err != nil {
		t.Skip(err)
	}
	for want, change := range map[string]func(*Config){
		"builds.user: must be another user than that of fleets[0].server": func(c *Config) { c.Fleets[0].Server.User = "nobody" },
		"that of fleets[0].server: it could end":                          func(c *Config) { c.Fleets[0].Server.User = other.Uid },
		"builds.user: must be another user than script.node.uid":          func(c *Config) { c.Script.Node.UID = uid },
	} {
		c := withServer(t)
		c.Builds = Builds{Storage: t.TempDir(), AllowUploaded: true, User: "nobody", UnpackedMax: 1 << 20}
		if err := c.Validate(); err != nil && strings.Contains(err.Error(), "another user") {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestThePortsOfBuildsAreNobodyElses(t *testing.T) {
	for ports, want := range map[string]string{
		"7700-7776":   "",
		"7700-7777":   "builds.ports: has ports of fleets[0].server.ports as well",
		"8000-8100":   "builds.ports: has ports of api.addr as well",
		"33450-33460": "builds.ports: has ports of fast.portsFrom as well",
	} {
		c := withServer(t)
		c.Builds.Ports = ports
		if err := c.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ports, err)
		}
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

// A host without store.path unpacks into a temporary folder. The next start removes it if the host was killed.
func TestTheTemporaryFolderOfBuilds(t *testing.T) {
	if err := launch.Supported(); err != nil {
		t.Skip("folders cannot be locked here:", err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	c := Config{Builds: Builds{Storage: t.TempDir()}}
	left := filepath.Join(os.TempDir(), buildsPrefix+"left")
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	var running [2]Host
	for i := range running {
		o, err := running[i].unpacking(&c)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(o.Dir)
		entries, _ := os.ReadDir(os.TempDir())
		if err != nil || info.Mode().Perm() != 0o755 || o.Dir != running[i].buildsDir.Path || len(entries) != i+1 {
			t.Errorf("%v, %v; %v", info, err, entries)
		}
	}
	running[0].buildsDir.Remove()
	running[1].buildsDir.Remove()
}

// A build is deleted while a host of the cluster is away, which finds its files when it is back.
func TestABuildIsDeletedWhileAHostIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := t.TempDir()
		server := filepath.Join(storage, "games", "arena", "server")
		if err := errors.Join(os.MkdirAll(filepath.Dir(server), 0o755), os.WriteFile(server, []byte("exe"), 0o600)); err != nil {
			t.Fatal(err)
		}
		var last Options
		c := hostsOf(t, 3, func(o *Options) {
			o.Config.Builds = Builds{Storage: storage, Dir: t.TempDir(), UnpackedMax: 1 << 20}
			last = *o
		})
		var ids []string // of one that stays, and of one that goes
		for range 2 {
			ids = append(ids, string(asked(c, 0, messages.CreateBuild{Bucket: "games", Key: "arena"}).ID))
		}
		time.Sleep(5 * time.Second)
		there := func(want ...string) {
			t.Helper()
			entries, err := os.ReadDir(last.Config.Builds.Dir)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			slices.Sort(want)
			if err != nil || !slices.Equal(names, want) {
				t.Errorf("%v, %v, want %v", names, err, want)
			}
		}
		there(ids[0], ids[0]+".digest", ids[1], ids[1]+".digest")
		c.all[2].Close()
		time.Sleep(time.Minute)
		asked(c, 0, messages.DeleteBuild{ID: messages.BuildID(ids[1])})
		if err := os.Remove(server); err != nil { // what is there is used
			t.Fatal(err)
		}
		last.Coordinator = c.coordinator.Client()
		begin(t, last)
		time.Sleep(time.Minute)
		there(ids[0], ids[0]+".digest")
	})
}
