package actors

import (
	"context"
	"time"

	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/messages"
)

// unpacksMax bounds how many archives are unpacked at a time: each may take
// Options.Bundle.UnpackedMax bytes.
const unpacksMax = 2

// unpack reads an archive, in the caller's goroutine.
func (s *System) unpack(ctx context.Context, zip []byte) (*bundle.Bundle, error) {
	select {
	case s.unpacks <- struct{}{}:
		defer func() { <-s.unpacks }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b, err := bundle.FromZip(zip, s.bundle)
	if err != nil {
		return nil, messages.Errorf(messages.InvalidRequest, "ZipFile: %v", err)
	}
	return b, nil
}

// CreateScript creates a script from an archive.
func (s *System) CreateScript(ctx context.Context, q messages.CreateScript) (*messages.Script, error) {
	b, err := s.unpack(ctx, q.Zip)
	if err != nil {
		return nil, err
	}
	return ask[*messages.Script](ctx, s.fleet, catalog.NewScript{Request: q, Bundle: b})
}

// UpdateScript changes a script. It returns when new game sessions run the new content, when
// the content has turned out not to run, or after some seconds.
func (s *System) UpdateScript(ctx context.Context, q messages.UpdateScript) (*messages.Script, error) {
	var b *bundle.Bundle
	if q.Zip != nil {
		var err error
		if b, err = s.unpack(ctx, q.Zip); err != nil {
			return nil, err
		}
	}
	changed, err := s.ReplaceScript(ctx, q, b, 0)
	return changed.Script, err
}

// ReplaceScript is UpdateScript for unpacked content, such as a folder. It waits at most wait
// (0: 10 s) until processes run the content, and returns the outcome.
func (s *System) ReplaceScript(ctx context.Context, q messages.UpdateScript, b *bundle.Bundle, wait time.Duration) (catalog.Changed, error) {
	return ask[catalog.Changed](ctx, s.fleet, catalog.ChangeScript{Request: q, Bundle: b, Wait: wait})
}

// Scripts reads one script, or with an empty id all, oldest first.
func (s *System) Scripts(ctx context.Context, id messages.ScriptID) ([]*messages.Script, error) {
	return ask[[]*messages.Script](ctx, s.fleet, catalog.Scripts{ID: id})
}

// DeleteScript deletes a script that no fleet uses.
func (s *System) DeleteScript(ctx context.Context, id messages.ScriptID) error {
	_, err := ask[stage.None](ctx, s.fleet, catalog.DropScript{ID: id})
	return err
}

// CreateFleet creates a fleet for a script. The fleet is ACTIVE once the script runs.
func (s *System) CreateFleet(ctx context.Context, q messages.CreateFleet) (*messages.Fleet, error) {
	return ask[*messages.Fleet](ctx, s.fleet, q)
}

// DeleteFleet ends a fleet and its game sessions.
func (s *System) DeleteFleet(ctx context.Context, id messages.FleetID) error {
	_, err := ask[stage.None](ctx, s.fleet, catalog.DropFleet{ID: id})
	return err
}

// UpdateRuntime replaces the runtime configuration of a fleet with a script.
func (s *System) UpdateRuntime(ctx context.Context, q messages.UpdateRuntime) (*messages.Fleet, error) {
	return ask[*messages.Fleet](ctx, s.fleet, q)
}

// FleetEvents reads what happened to a fleet, oldest first.
func (s *System) FleetEvents(ctx context.Context, id messages.FleetID) ([]messages.FleetEvent, error) {
	return ask[[]messages.FleetEvent](ctx, s.fleet, catalog.Events{ID: id})
}

// AwaitScripts returns when no fleet is loading a script.
func (s *System) AwaitScripts(ctx context.Context) error {
	_, err := ask[stage.None](ctx, s.fleet, fleet.ScriptsLoaded{})
	return err
}
