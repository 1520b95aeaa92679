package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js"
	"troupe/actors/script/node"
	"troupe/messages"
)

// programs creates the programs of scripts and chooses their engine.
type programs struct {
	limits   script.Limits
	node     node.Options
	uploaded bool // whether scripts uploaded through the service API may run in Node.js
}

func newPrograms(s *Script) *programs {
	return &programs{
		limits: script.Limits{
			Callback: s.Callback, Tick: slowCallback, TimersMax: s.TimersMax, MemoryMax: int64(s.MemoryMax), KeepRunningOnError: s.KeepRunningOnError,
		},
		node: node.Options{Dir: s.Node.Dir, UID: uint32(s.Node.UID), GID: uint32(s.Node.GID)},
		// Uploaded scripts must not run as the host's user, because that user can read the host's keys, store
		// and environment.
		uploaded: s.Node.AllowUploaded || s.Node.UID != 0 && s.Node.UID != os.Geteuid(),
	}
}

// make creates the program of a script. The engine is that of the fleet, else that of the script's
// package.json, else the embedded one. An uploaded script gets Node.js only if the operator allows it.
func (p *programs) make(b *bundle.Bundle, entry string, f *messages.Fleet) (script.Program, error) {
	asked, err := b.Engine()
	if err != nil {
		return nil, err
	}
	if cmp.Or(f.Engine, asked) != bundle.EngineNode { // D-126
		return js.New(b, entry, p.limits)
	}
	if !b.Local && !p.uploaded {
		made, err := js.New(b, entry, p.limits)
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, embeddedInstead)
		}
		return notInNode{made}, nil
	}
	made, err := node.New(b, entry, p.limits, p.node)
	if err != nil {
		return nil, err
	}
	return slowStarter{made}, nil
}

const embeddedInstead = "the script asks for engine node, and runs in the embedded engine: uploaded scripts run in node only if the operator of the host sets " +
	"script.node.uid to a user of their own, or script.node.allowUploaded to true (then they can do all that the host's user can)"

// notInNode is the program of a script that requested Node.js but runs in the embedded engine.
type notInNode struct{ *js.Program }

// Note implements hosting.Noted.
func (notInNode) Note() string { return embeddedInstead }

// slowStarter is a program with child processes. Starting one takes tens of milliseconds, so one process is
// kept ready.
type slowStarter struct{ *node.Program }

// Standby implements hosting.Standby.
func (slowStarter) Standby() int { return 1 }

func (v *checks) scripts(c *Config) {
	s := &c.Script
	for key, n := range map[string]int64{
		"callback": int64(s.Callback), "timersMax": int64(s.TimersMax), "memoryMax": int64(s.MemoryMax),
	} {
		v.that("script."+key, n >= 0, "must not be negative; 0 switches it off")
	}
	v.that("script.memoryMax", s.MemoryMax == 0 || s.MemoryMax >= 16<<20, "must be at least 16777216, or 0")
	v.that("script.unpackedMax", s.UnpackedMax >= 1<<20 && s.UnpackedMax <= 1<<30, "must be 1048576 to 1073741824")
	v.that("script.processesMax", s.ProcessesMax >= 1, "must be at least 1")
	v.that("script.processGroupsMax", s.ProcessGroupsMax >= 1 && s.ProcessGroupsMax <= 10_000, "must be 1 to 10000")
	for key, id := range map[string]int{"uid": s.Node.UID, "gid": s.Node.GID} {
		v.that("script.node."+key, id >= 0 && int64(id) <= math.MaxUint32, "must be 0 to 4294967295")
	}
	for i, f := range c.Fleets {
		key := fmt.Sprintf("fleets[%d]", i)
		v.that(key+".engine", f.Engine == "" || f.Engine == bundle.EngineEmbedded || f.Engine == bundle.EngineNode, "must be embedded or node, or empty")
		v.that(key+".nodeVersion", f.NodeVersion == "" || f.NodeVersion == messages.NodeVersion10 || f.NodeVersion == messages.NodeVersion24, "must be 10.x or 24.x, or empty")
		v.that(key+".standby", f.Standby >= -1 && f.Standby <= 1000, "must be -1 to 1000")
		if f.Script == "" {
			v.that(key, f.LaunchPath == "" && f.Engine == "" && f.Standby == 0 && f.NodeVersion == "", "has settings of a script and no script")
		}
	}
}

func (s *Script) bundleLimits() bundle.Limits {
	return bundle.Limits{UnpackedMax: int64(s.UnpackedMax)}
}

// scripts reads the scripts of the configured fleets.
func (c *Config) scripts(now time.Time) ([]catalog.Script, error) {
	var all []catalog.Script
	for i, f := range c.Fleets {
		if f.Script == "" {
			continue
		}
		b, err := bundle.FromPath(f.Script, c.Script.bundleLimits())
		if err != nil {
			return nil, fmt.Errorf("host: fleets[%d].script: %w", i, err)
		}
		record := &messages.Script{
			ID: f.scriptID(), Name: filepath.Base(f.Script), NodeVersion: cmp.Or(f.NodeVersion, messages.NodeVersion10), Created: now, Contents: 1,
		}
		for _, content := range b.Files {
			record.Size += int64(len(content))
		}
		all = append(all, catalog.Script{Record: record, Bundle: b})
	}
	return all, nil
}

// scriptID returns the id of a configured fleet's script, or "" for a fleet without a script.
func (f *Fleet) scriptID() messages.ScriptID {
	if f.Script == "" {
		return ""
	}
	return messages.ScriptID("script-" + strings.TrimPrefix(f.ID, "fleet-"))
}

// launchPath returns the file to start. If the script is a single file, it is that file.
func (f *Fleet) launchPath() string {
	if f.LaunchPath != "" || f.Script == "" || strings.EqualFold(filepath.Ext(f.Script), ".zip") {
		return f.LaunchPath
	}
	if info, err := os.Stat(f.Script); err != nil || info.IsDir() {
		return ""
	}
	return filepath.Base(f.Script)
}

// standby converts the setting to the registry's value, where a negative value means the default of the
// engine.
func (f *Fleet) standby() int {
	switch f.Standby {
	case 0:
		return -1
	case -1:
		return 0
	}
	return f.Standby
}

// loadWait is how long the host waits at its start for the scripts of configured fleets. If a script cannot
// run, its fleet gets status ERROR, and the host starts anyway.
const loadWait = 30 * time.Second

func (h *Host) loadScripts(Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), loadWait)
	defer cancel()
	if err := messages.Run(ctx, h.system, messages.ScriptsLoaded{}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("host: scripts: %w", err)
	}
	return nil
}

// reloadWait is how long a reload waits for a process with the new version. It is longer than the 10 s that a
// process may take to become ready.
const reloadWait = 12 * time.Second

// ErrStillLoading is returned by ReloadScript if the new version is still starting after 12 s. New game
// sessions may still use that version later.
var ErrStillLoading = errors.New("it is still loading; game sessions run it once it is ready")

// ReloadScript reads the script of a configured fleet again and returns its version. New game sessions then
// run that version. If the script cannot be compiled, or a process with it does not become ready,
// ReloadScript returns an error, and new game sessions keep using the previous version.
func (h *Host) ReloadScript(ctx context.Context, id messages.FleetID) (version string, err error) {
	for _, f := range h.fleets {
		if f.ID != string(id) || f.Script == "" {
			continue
		}
		b, err := bundle.FromPath(f.Script, h.bundles)
		if err != nil {
			return "", err
		}
		if err := h.compiles(b, &f); err != nil {
			return "", err
		}
		changed, err := h.replaceScript(ctx, messages.UpdateScript{ID: f.scriptID(), Wait: reloadWait}, b)
		switch {
		case err != nil:
			return "", err
		case len(changed.Refused) > 0:
			return "", errors.New(strings.Join(changed.Refused, "\n"))
		case changed.Loading:
			return "", ErrStillLoading
		}
		return catalog.Version(changed.Script), nil
	}
	return "", fmt.Errorf("host: fleet %s has no script of the configuration", id)
}

// replaceScript gives a script a new content, on all hosts of a cluster.
func (h *Host) replaceScript(ctx context.Context, q messages.UpdateScript, b *bundle.Bundle) (changed messages.UpdatedScript, err error) {
	if h.node == nil {
		return messages.Do(ctx, h.system, catalog.ChangeScript{Request: q, Bundle: b})
	}
	if q.Zip, err = b.Zip(); err != nil {
		return changed, err
	}
	return messages.Do(ctx, h.Doer(), q)
}

// compiles returns an error if a script cannot be compiled.
func (h *Host) compiles(b *bundle.Bundle, f *Fleet) error {
	entry, err := b.Entry(f.launchPath())
	if err != nil {
		return err
	}
	checked := *b
	checked.Version, checked.NodeVersion = "check", cmp.Or(f.NodeVersion, messages.NodeVersion10)
	p, err := h.programs.make(&checked, entry, &messages.Fleet{ID: messages.FleetID(f.ID), Engine: f.Engine})
	if err != nil {
		return err
	}
	p.Close()
	return nil
}
