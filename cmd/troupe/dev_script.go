package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/script/bundle"
	"troupe/actors/script/js"
	"troupe/messages"
	"troupe/transport/host"
)

// devScript is the script of `troupe dev`. It is reloaded after each save.
type devScript struct {
	path   string
	main   string // file to start; empty: as in package.json
	engine string // empty: as in package.json
	fleet  messages.FleetID
	limits bundle.Limits // limits from the configuration
	out    io.Writer
	tells  atomic.Bool // set while a reload will itself print why the script does not run
}

// watchEvery is how often the files are checked for changes. Tests shorten it.
var watchEvery = 300 * time.Millisecond

// reloadLimit bounds a reload.
const reloadLimit = 30 * time.Second

// watch reloads the script when it changes, until stop is called.
func (d *devScript) watch(h *host.Host) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		watchFiles(ctx, d.watched(), watchEvery, func() { d.reload(ctx, h) })
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// watched returns the path to watch. For a script that is a single file, it is the folder, because the file may import
// others in it.
func (d *devScript) watched() string {
	if info, err := os.Stat(d.path); err == nil && !info.IsDir() && !d.zip() {
		return filepath.Dir(d.path)
	}
	return d.path
}

func (d *devScript) zip() bool { return strings.EqualFold(filepath.Ext(d.path), ".zip") }

// reload checks and reloads the script after a save, and prints the outcome.
func (d *devScript) reload(ctx context.Context, h *host.Host) {
	ctx, cancel := context.WithTimeout(ctx, reloadLimit)
	defer cancel()
	d.tells.Store(true)
	defer d.tells.Store(false)
	version := ""
	err := d.check()
	if err == nil {
		version, err = h.ReloadScript(ctx, d.fleet)
	}
	switch now := time.Now().Format(time.TimeOnly); {
	case ctx.Err() != nil && err != nil: // the host is stopping
	case errors.Is(err, host.ErrStillLoading):
		fmt.Fprintf(d.out, "%s %s: %v\n", now, d.path, err)
	case err != nil:
		fmt.Fprintf(d.out, "%s %s does not run; new game sessions keep using the previous version:\n  %s\n", now, d.path, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	default:
		fmt.Fprintf(d.out, "%s %s is reloaded: new game sessions run it as version %s\n", now, d.path, version)
	}
}

// told reports whether a log line (JSON) only repeats why the script does not run. The reload prints the same reason in
// a more readable form.
func (d *devScript) told(line []byte) bool {
	return d.tells.Load() && bytes.Contains(line, []byte(`"script does not run"`)) && bytes.Contains(line, fmt.Appendf(nil, `"fleet_id":%q`, d.fleet))
}

// runs returns an error if the host found during its start that the script does not run.
func (d *devScript) runs(h *host.Host) error {
	ctx, cancel := context.WithTimeout(context.Background(), reloadLimit)
	defer cancel()
	fleets, err := messages.Do(ctx, h.System(), messages.FleetQuery{})
	if err != nil {
		return err
	}
	failed := slices.ContainsFunc(fleets, func(f *messages.Fleet) bool {
		return f.ID == d.fleet && f.Status == messages.FleetErrored
	})
	if !failed {
		return nil
	}
	return lastFailure(h, d.fleet)
}

// check reads the script and reports mistakes in its files and its code, with their positions. It runs no code: the
// host does that, with time limits. The host also compiles code for Node.js when it loads the script.
func (d *devScript) check() error {
	b, err := bundle.FromPath(d.path, d.limits)
	if err != nil {
		return err
	}
	asked, err := b.Engine()
	if err != nil {
		return err
	}
	launch := d.main
	if launch == "" && d.watched() != d.path {
		launch = filepath.Base(d.path)
	}
	entry, err := b.Entry(launch)
	if err != nil || cmp.Or(d.engine, asked) == bundle.EngineNode {
		return err
	}
	b.NodeVersion = messages.NodeVersion10
	return js.Check(b, entry)
}
