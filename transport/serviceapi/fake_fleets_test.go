package serviceapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"troupe/messages"
)

// fakeFleets is the part of fakeBackend for fleets, aliases, locations and tags.
type fakeFleets struct {
	aliases   []*messages.Alias
	tags      map[messages.Resource]map[string]string
	locations []messages.Location
	builds    []*messages.Build
	computes  []*messages.Compute
	uses      []messages.FleetUse
	instances []messages.Instance
	got       []any // requests as received
}

// take records a request and returns the fleet that it names.
func (b *fakeBackend) take(ctx context.Context, id messages.FleetID, req any) (*messages.Fleet, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.got = append(b.got, req)
	i := slices.IndexFunc(b.fleets, func(f *messages.Fleet) bool { return f.ID == id })
	if i < 0 {
		return nil, messages.Errorf(messages.NotFound, "no fleet %q", id)
	}
	return b.fleets[i], nil
}

func (b *fakeBackend) updateFleet(ctx context.Context, req messages.UpdateFleet) (*messages.Fleet, error) {
	return b.take(ctx, req.FleetID, req)
}

func (b *fakeBackend) updateCapacity(ctx context.Context, req messages.UpdateCapacity) (*messages.Fleet, error) {
	return b.take(ctx, req.FleetID, req)
}

func (b *fakeBackend) updatePorts(ctx context.Context, req messages.UpdatePorts) (*messages.Fleet, error) {
	return b.take(ctx, req.FleetID, req)
}

func (b *fakeBackend) addFleetLocations(ctx context.Context, req messages.AddFleetLocations) (*messages.Fleet, error) {
	return b.take(ctx, req.FleetID, req)
}

func (b *fakeBackend) removeFleetLocations(ctx context.Context, req messages.RemoveFleetLocations) (*messages.Fleet, error) {
	return b.take(ctx, req.FleetID, req)
}

func (b *fakeBackend) fleetUse(ctx context.Context, q messages.FleetUseQuery) ([]messages.FleetUse, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.uses), func(u messages.FleetUse) bool {
		return q.FleetIDs != nil && !slices.Contains(q.FleetIDs, u.Fleet.ID) || q.Location != "" && u.Location != q.Location
	}), err
}

func (b *fakeBackend) readInstances(ctx context.Context, q messages.InstanceQuery) ([]messages.Instance, error) {
	if _, err := b.take(ctx, q.FleetID, q); err != nil {
		return nil, err
	}
	return b.instances, nil
}

func (b *fakeBackend) createBuild(ctx context.Context, q messages.CreateBuild) (*messages.Build, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.got = append(b.got, q)
	b.now = b.now.Add(time.Millisecond)
	made := &messages.Build{ID: messages.BuildID(fmt.Sprintf("build-%04d", len(b.builds))), Name: q.Name, Version: q.Version, OperatingSystem: q.OperatingSystem,
		SDKVersion: q.SDKVersion, Bucket: q.Bucket, Key: q.Key, Status: messages.BuildInitialized, Created: b.now}
	b.builds = append(b.builds, made)
	return made, nil
}

func (b *fakeBackend) updateBuild(ctx context.Context, q messages.UpdateBuild) (*messages.Build, error) {
	found, err := b.readBuilds(ctx, q.ID)
	if err != nil {
		return nil, err
	}
	b.got = append(b.got, q)
	return found[0], nil
}

func (b *fakeBackend) deleteBuild(ctx context.Context, id messages.BuildID) error {
	_, err := b.readBuilds(ctx, id)
	b.builds = slices.DeleteFunc(b.builds, func(o *messages.Build) bool { return o.ID == id })
	return err
}

func (b *fakeBackend) readBuilds(ctx context.Context, id messages.BuildID) ([]*messages.Build, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	if id == "" {
		return b.builds, err
	}
	i := slices.IndexFunc(b.builds, func(o *messages.Build) bool { return o.ID == id })
	if i < 0 {
		return nil, messages.Errorf(messages.NotFound, "no build %q", id)
	}
	return b.builds[i : i+1], err
}

func (b *fakeBackend) createAlias(ctx context.Context, req messages.CreateAlias) (*messages.Alias, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if req.FleetID != "" {
		if _, err := b.resolve(req.FleetID, ""); err != nil {
			return nil, messages.Errorf(messages.InvalidRequest, "%v", err)
		}
	}
	b.got = append(b.got, req)
	b.now = b.now.Add(time.Millisecond)
	a := &messages.Alias{ID: messages.AliasID(fmt.Sprintf("alias-%04d", len(b.aliases))), Name: req.Name, Description: req.Description,
		FleetID: req.FleetID, Message: req.Message, Created: b.now, Tags: req.Tags}
	b.aliases = append(b.aliases, a)
	return a, nil
}

func (b *fakeBackend) aliasAt(id messages.AliasID) (int, error) {
	i := slices.IndexFunc(b.aliases, func(a *messages.Alias) bool { return a.ID == id })
	if i < 0 {
		return i, messages.Errorf(messages.NotFound, "no alias %q", id)
	}
	return i, nil
}

func (b *fakeBackend) updateAlias(ctx context.Context, req messages.UpdateAlias) (*messages.Alias, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	i, unknown := b.aliasAt(req.ID)
	if err != nil || unknown != nil {
		return nil, unknown
	}
	b.got = append(b.got, req)
	a := *b.aliases[i]
	if req.Name != nil {
		a.Name = *req.Name
	}
	if req.Routing != nil {
		a.FleetID, a.Message = req.Routing.FleetID, req.Routing.Message
	}
	a.Updated = b.now.Add(time.Second)
	b.aliases[i] = &a
	return &a, nil
}

func (b *fakeBackend) deleteAlias(ctx context.Context, id messages.AliasID) error {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	i, unknown := b.aliasAt(id)
	if err != nil || unknown != nil {
		return unknown
	}
	b.aliases = slices.Delete(b.aliases, i, i+1)
	return nil
}

func (b *fakeBackend) readAliases(ctx context.Context, id messages.AliasID) ([]*messages.Alias, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	if id == "" {
		return b.aliases, err
	}
	i, unknown := b.aliasAt(id)
	if err != nil || unknown != nil {
		return nil, unknown
	}
	return b.aliases[i : i+1], nil
}

func (b *fakeBackend) createLocation(ctx context.Context, l messages.Location) (messages.Location, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.locations, func(o messages.Location) bool { return o.Name == l.Name }) {
		return l, messages.Errorf(messages.Conflict, "location %q exists", l.Name)
	}
	b.locations = append(b.locations, l)
	return l, err
}

func (b *fakeBackend) deleteLocation(ctx context.Context, name string) error {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	n := len(b.locations)
	b.locations = slices.DeleteFunc(b.locations, func(o messages.Location) bool { return o.Name == name })
	if len(b.locations) == n {
		return messages.Errorf(messages.NotFound, "no location %q", name)
	}
	return err
}

func (b *fakeBackend) readLocations(ctx context.Context) ([]messages.Location, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	return b.locations, err
}

func (b *fakeBackend) registerCompute(ctx context.Context, m messages.Compute) (*messages.Compute, error) {
	if _, err := b.take(ctx, m.FleetID, m); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(b.computes, func(o *messages.Compute) bool { return o.FleetID == m.FleetID && o.Name == m.Name }) {
		return nil, messages.Errorf(messages.Conflict, "compute %q exists", m.Name)
	}
	b.now = b.now.Add(time.Millisecond)
	m.Created = b.now
	b.computes = append(b.computes, &m)
	return &m, nil
}

func (b *fakeBackend) readComputes(ctx context.Context, q messages.ComputeQuery) ([]*messages.Compute, error) {
	if _, err := b.take(ctx, q.FleetID, q); err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(slices.Clone(b.computes), func(m *messages.Compute) bool {
		return m.FleetID != q.FleetID || q.Name != "" && m.Name != q.Name
	})
	if q.Name != "" && len(all) == 0 {
		return nil, messages.Errorf(messages.NotFound, "no compute %q", q.Name)
	}
	return all, nil
}

func (b *fakeBackend) deregisterCompute(ctx context.Context, q messages.DeregisterCompute) error {
	_, err := b.readComputes(ctx, messages.ComputeQuery{FleetID: q.FleetID, Name: q.Name})
	b.computes = slices.DeleteFunc(b.computes, func(m *messages.Compute) bool { return m.FleetID == q.FleetID && m.Name == q.Name })
	return err
}

func (b *fakeBackend) authorizeCompute(ctx context.Context, q messages.AuthorizeCompute) (messages.ComputeAuth, error) {
	_, err := b.readComputes(ctx, messages.ComputeQuery{FleetID: q.FleetID, Name: q.Name})
	return messages.ComputeAuth{Token: "token-of-" + q.Name, Expires: b.now.Add(3 * time.Hour)}, err
}

func (b *fakeBackend) readTags(ctx context.Context, q messages.Resource) (map[string]string, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	tags, ok := b.tags[q]
	if err == nil && !ok {
		err = messages.Errorf(messages.NotFound, "nothing has the name %v", q)
	}
	return maps.Clone(tags), err
}

func (b *fakeBackend) updateTags(ctx context.Context, req messages.UpdateTags) (map[string]string, error) {
	had, err := b.readTags(ctx, req.Resource)
	if err != nil {
		return nil, err
	}
	now, err := messages.ChangeTags(had, req)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tags[req.Resource] = now
	}
	return now, err
}
