package catalog

import (
	"cmp"
	"slices"
	"strings"

	"troupe/actors/ledger"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// BuildRules say what the operator allows callers of the API to do with builds.
type BuildRules struct {
	// Refused is the reason why no builds can be created. FleetsRefused is the reason why no fleets of them can be. Empty
	// means that they can.
	Refused, FleetsRefused string
	// PortFrom and PortTo are the ports that fleets of builds may have. Both are 0 if there are none.
	PortFrom, PortTo int
}

const buildsMax = 1000 // builds of all callers

func buildKey(id messages.BuildID) ledger.Key { return ledger.Key{Kind: store.Build, ID: string(id)} }

func putBuild(b *messages.Build) store.Change { return store.Put(store.Build, string(b.ID), b) }

// buildID returns the id of a record. It returns "" if a required field is missing.
func buildID(b *messages.Build) string {
	if b.Status == 0 {
		return ""
	}
	return string(b.ID)
}

// onCreateBuild creates a build. Its files are unpacked after the answer.
func (c *Catalog) onCreateBuild(m stage.Request[messages.CreateBuild, *messages.Build]) {
	q := m.Request
	var made *messages.Build
	c.ledger.Do(ledger.Transaction{Key: buildKey(q.ID), Reply: m.With(&made), Decide: func() (ledger.Entry, error) {
		old := c.builds[q.ID]
		switch {
		case old != nil && messages.SameCall(old.Call, q.Call):
			made = old
			return ledger.Entry{}, nil
		case old != nil:
			return ledger.Entry{}, exists(store.Build, q.ID)
		case c.o.Builds.Refused != "":
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "%s", c.o.Builds.Refused)
		case len(c.builds)+c.ledger.Claimed(store.Build).Count >= buildsMax: // the API declares no other error for it
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "there are %d builds already", buildsMax)
		}
		made = &messages.Build{
			ID: q.ID, Name: q.Name, Version: q.Version, OperatingSystem: q.OperatingSystem, SDKVersion: q.SDKVersion, Bucket: q.Bucket, Key: q.Key,
			Status: messages.BuildInitialized, Created: c.context.Now(), Tags: q.Tags, Call: q.Call,
		}
		if q.Bucket == "" {
			made.Awaits, made.Bucket, made.Key = true, messages.UploadsBucket, messages.UploadKey(q.ID)
		}
		return ledger.Entry{Changes: []store.Change{putBuild(made)}, Claim: ledger.Claim{Count: 1}, Apply: func() {
			c.setBuild(made)
			c.context.Log().Info().Str("build_id", string(made.ID)).Str("bucket", made.Bucket).Str("key", made.Key).Msg("build created")
		}}, nil
	}})
}

// setBuild makes a record that of its build.
func (c *Catalog) setBuild(b *messages.Build) {
	c.builds[b.ID] = b
	c.o.Listener.BuildChanged(b)
}

// changeBuild makes the change that decide returns.
func (c *Catalog) changeBuild(id messages.BuildID, reply func(*messages.Build, error), decide func(*messages.Build) error) {
	var changed *messages.Build
	c.ledger.Do(ledger.Transaction{Key: buildKey(id), Reply: stage.Request[stage.None, *messages.Build]{Reply: reply}.With(&changed), Decide: func() (ledger.Entry, error) {
		old := c.builds[id]
		if old == nil {
			return ledger.Entry{}, c.unknown(store.Build, string(id))
		}
		n := *old
		changed = &n
		if err := decide(changed); err != nil {
			return ledger.Entry{}, err
		}
		return c.buildAs(changed), nil
	}})
}

// buildAs returns the ledger entry that replaces the record of a build.
func (c *Catalog) buildAs(b *messages.Build) ledger.Entry {
	return ledger.Entry{Changes: []store.Change{putBuild(b)}, Apply: func() { c.setBuild(b) }}
}

func (c *Catalog) onUpdateBuild(m stage.Request[messages.UpdateBuild, *messages.Build]) {
	q := m.Request
	c.changeBuild(q.ID, m.Reply, func(b *messages.Build) error {
		b.Name, b.Version = cmp.Or(q.Name, b.Name), cmp.Or(q.Version, b.Version)
		return nil
	})
}

func (c *Catalog) onBuildUploaded(m stage.Request[messages.BuildUploaded, stage.None]) {
	c.changeBuild(m.Request.ID, func(_ *messages.Build, err error) { m.Reply(stage.None{}, err) }, func(b *messages.Build) error {
		if !b.Awaits && b.Key != m.Request.Key {
			return messages.Errorf(messages.Conflict, "build %s is %s, and takes no upload", b.ID, b.Status)
		}
		b.Awaits, b.Key = false, m.Request.Key
		return nil
	})
}

// onBuildUnpacked makes a build READY or FAILED. A build that a host has unpacked stays READY when another one fails.
func (c *Catalog) onBuildUnpacked(m stage.Request[messages.BuildUnpacked, stage.None]) {
	q := m.Request
	c.changeBuild(q.ID, func(_ *messages.Build, err error) { m.Reply(stage.None{}, err) }, func(b *messages.Build) error {
		switch {
		case q.Failed != "" && b.Status == messages.BuildReady:
		case q.Failed != "":
			b.Status, b.Why = messages.BuildFailed, q.Failed
		case b.Status == messages.BuildReady && b.Digest != q.Digest:
			return messages.Errorf(messages.Conflict, "%s/%s has other files than those of which build %s was made", b.Bucket, b.Key, b.ID)
		default:
			b.Status, b.Why, b.Size, b.Digest = messages.BuildReady, "", q.Size, q.Digest
		}
		return nil
	})
}

// onDeleteBuild deletes a build that no fleet uses. Its files are deleted once no process runs from them.
func (c *Catalog) onDeleteBuild(m stage.Request[messages.DeleteBuild, stage.None]) {
	id := m.Request.ID
	c.ledger.Do(ledger.Transaction{Key: buildKey(id), Reply: m.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
		if c.builds[id] == nil {
			return ledger.Entry{}, c.unknown(store.Build, string(id))
		}
		for _, f := range c.fleets {
			if f.record.BuildID == id && f.record.Status != messages.FleetTerminated {
				return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "build %s is used by fleet %s: delete that first", id, f.record.ID)
			}
		}
		return ledger.Entry{Changes: []store.Change{store.Delete(store.Build, string(id))}, Apply: func() { c.dropBuild(id) }}, nil
	}})
}

func (c *Catalog) dropBuild(id messages.BuildID) {
	delete(c.builds, id)
	c.context.Log().Info().Str("build_id", string(id)).Msg("build deleted")
	c.o.Listener.BuildDeleted(id)
}

func (c *Catalog) describeBuilds(id messages.BuildID) ([]*messages.Build, error) {
	if id != "" {
		b := c.builds[id]
		if b == nil {
			return nil, c.unknown(store.Build, string(id))
		}
		return []*messages.Build{b}, nil
	}
	return c.Builds(), nil
}

// Builds returns the records of all builds, oldest first.
func (c *Catalog) Builds() []*messages.Build {
	all := make([]*messages.Build, 0, len(c.builds))
	for _, b := range c.builds {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *messages.Build) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Build returns the record of a build, or nil if there is none.
func (c *Catalog) Build(id messages.BuildID) *messages.Build { return c.builds[id] }

// followBuild applies the Leader's record of a build.
func (c *Catalog) followBuild(id string, b *messages.Build) {
	switch {
	case b != nil:
		c.setBuild(b)
	case c.builds[messages.BuildID(id)] != nil:
		c.dropBuild(messages.BuildID(id))
	}
}

// buildFleet makes a new fleet one of a build.
func (c *Catalog) buildFleet(f *fleet) error {
	r := f.record
	b := c.builds[r.BuildID]
	switch {
	case b == nil:
		return c.unknown(store.Build, string(r.BuildID))
	case b.Status == messages.BuildFailed:
		return messages.Errorf(messages.InvalidRequest, "build %s is FAILED: %s", b.ID, b.Why)
	case b.Status != messages.BuildReady:
		return messages.Errorf(messages.NotReady, "build %s is %s, not READY", b.ID, b.Status)
	case c.o.Builds.FleetsRefused != "":
		return messages.Errorf(messages.InvalidRequest, "%s", c.o.Builds.FleetsRefused)
	case len(r.Runtime.Processes) == 0 && r.LaunchPath == "":
		return messages.Errorf(messages.InvalidRequest, "a fleet of a build needs RuntimeConfiguration with ServerProcesses")
	}
	r.Runtime = f.runtime()
	return c.serveBuild(r)
}

// serveBuild sets the Server of a fleet of a build: what its runtime configuration starts, on its ports.
func (c *Catalog) serveBuild(r *messages.Fleet) (err error) {
	s := new(messages.GameServer)
	first := r.Runtime.Processes[0]
	for _, p := range r.Runtime.Processes[1:] {
		if p.LaunchPath != first.LaunchPath || p.Parameters != first.Parameters {
			return messages.Errorf(messages.InvalidRequest, "all ServerProcesses of a fleet of a build must have the same LaunchPath and Parameters: create another fleet of the build for %s %s", p.LaunchPath, p.Parameters)
		}
	}
	if s.Path, err = inBuild(first.LaunchPath); err != nil {
		return err
	}
	s.Args = arguments(first.Parameters)
	if err := c.o.Builds.Allow(r.Ports); err != nil {
		return err
	}
	if len(r.Ports) > 0 {
		s.PortFrom, s.PortTo = r.Ports[0].From, r.Ports[0].To
	}
	if s.PortFrom == 0 && strings.Contains(first.Parameters, "{port}") {
		return messages.Errorf(messages.InvalidRequest, "Parameters has {port}, so the fleet needs EC2InboundPermissions: its processes get those ports")
	}
	r.Server = s
	return EnoughPorts(r)
}

const windowsRoot = "C:/game/" // folder of a build on the original's Windows

// inBuild returns the path of a launch path within its build.
func inBuild(launchPath string) (string, error) {
	path := strings.ReplaceAll(launchPath, `\`, "/")
	rest, ok := strings.CutPrefix(path, bundle.Root+"/")
	if !ok && len(path) > len(windowsRoot) && strings.EqualFold(path[:len(windowsRoot)], windowsRoot) {
		rest, ok = path[len(windowsRoot):], true
	}
	parts := slices.DeleteFunc(strings.Split(rest, "/"), func(p string) bool { return p == "" || p == "." })
	if !ok || len(parts) == 0 || slices.Contains(parts, "..") || strings.ContainsAny(rest, ":\x00") {
		return "", messages.Errorf(messages.InvalidRequest, `LaunchPath must name a file of the build, as /local/game/... or C:\game\...; it is %q`, launchPath)
	}
	return strings.Join(parts, "/"), nil
}

// arguments splits Parameters at spaces. Quotes, double or single, keep spaces together.
func arguments(text string) (all []string) {
	var word strings.Builder
	var quote rune
	started := false
	for _, r := range text {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote, started = r, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n' || r == '\r'):
			if started {
				all = append(all, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if started {
		all = append(all, word.String())
	}
	return all
}
