package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/actors/store"
)

// startResult is one start.
type startResult struct {
	Seconds float64 `json:"seconds"`
	Empty   float64 `json:"empty_seconds"` // with a store without records
	MiB     float64 `json:"store_mib"`
}

// playersOf is how many of the records belong to each game session.
const playersOf = 3

// sample is the records of one game session with its players, and of its placement, as a host leaves them that was killed.
type sample struct {
	game, placement string // their ids
	records         []store.Change
}

// take has a host make the sample.
func (b *bench) take(ctx context.Context) (s sample, err error) {
	proc, err := b.host(ctx, "sample.db")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	api := proc.API(1)
	defer api.Close()
	s.placement = "placement-of-the-sample"
	if err := api.Call(ctx, "StartGameSessionPlacement", placement(s.placement), new(struct{})); err != nil {
		return s, err
	}
	for s.game == "" {
		var out struct {
			GameSessionPlacement struct{ Status, GameSessionArn string }
		}
		if err := api.Call(ctx, "DescribeGameSessionPlacement", struct{ PlacementId string }{s.placement}, &out); err != nil {
			return s, err
		}
		if out.GameSessionPlacement.Status == "FULFILLED" {
			s.game = out.GameSessionPlacement.GameSessionArn
		} else if err := rest(ctx, 10*time.Millisecond); err != nil {
			return s, err
		}
	}
	for i := range playersOf - 2 { // the placement has two
		in := struct{ GameSessionId, PlayerId string }{s.game, fmt.Sprintf("player-%d", i)}
		if err := api.Call(ctx, "CreatePlayerSession", in, new(struct{})); err != nil {
			return s, err
		}
	}
	proc.Kill()
	kept, err := store.Open(store.Options{Path: filepath.Join(b.dir, "sample.db")})
	if err != nil {
		return s, err
	}
	for _, kind := range []store.Kind{store.GameSession, store.PlayerSession, store.Placement} {
		_, unread := kept.Load(kind, func(id string, value []byte) error {
			s.records = append(s.records, store.Change{Kind: kind, ID: id, Value: bytes.Clone(value)})
			return nil
		})
		err = errors.Join(err, unread)
	}
	return s, errors.Join(err, kept.Close())
}

// copies are the records of the sample under other ids.
func (s sample) copies(n int) []store.Change {
	ids := []string{s.game, fmt.Sprintf("%s-%d", s.game, n), s.placement, fmt.Sprintf("%s-%d", s.placement, n)}
	for _, r := range s.records {
		if r.Kind == store.PlayerSession {
			ids = append(ids, r.ID, fmt.Sprintf("%s-%d", r.ID, n))
		}
	}
	other := strings.NewReplacer(ids...)
	var all []store.Change
	for _, r := range s.records {
		all = append(all, store.Change{Kind: r.Kind, ID: other.Replace(r.ID), Value: []byte(other.Replace(string(r.Value)))})
	}
	return all
}

// fill makes a store with copies of the sample.
func (b *bench) fill(name string, s sample, records int) error {
	kept, err := store.Open(store.Options{Path: filepath.Join(b.dir, name)})
	if err != nil {
		return err
	}
	var failed error
	for n, made := 0, 0; made < records; {
		var batch []store.Change
		for ; len(batch) < 1000 && made+len(batch) < records; n++ {
			batch = append(batch, s.copies(n)...)
		}
		made += len(batch)
		kept.Commit(batch, func(err error) { failed = errors.Join(failed, err) })
		kept.Flush()
	}
	return errors.Join(failed, kept.Close())
}

// start measures from the start of the process until it has announced its addresses.
func (b *bench) start(ctx context.Context) error {
	model, err := b.take(ctx)
	if err != nil {
		return fmt.Errorf("make a sample: %w", err)
	}
	for _, one := range []struct {
		name    string
		records int
	}{{"empty.db", 0}, {"full.db", b.Records}} {
		if err := b.fill(one.name, model, one.records); err != nil {
			return fmt.Errorf("fill a store: %w", err)
		}
	}
	info, err := os.Stat(filepath.Join(b.dir, "full.db"))
	if err != nil {
		return err
	}
	worst := 0.0
	for round := range b.Rounds {
		name := fmt.Sprintf("start-%d.db", round)
		if err := copyFile(filepath.Join(b.dir, "full.db"), filepath.Join(b.dir, name)); err != nil {
			return err
		}
		empty, err := b.timed(ctx, "empty.db")
		if err != nil {
			return err
		}
		full, err := b.timed(ctx, name)
		if err != nil {
			return err
		}
		worst = max(worst, full)
		b.res.Starts = append(b.res.Starts, startResult{Seconds: full, Empty: empty, MiB: float64(info.Size()) / (1 << 20)})
	}
	b.res.Bars.Add(fmt.Sprintf("start with %d records, seconds", b.Records), b.barStart, worst, worst <= b.barStart)
	return nil
}

func (b *bench) timed(ctx context.Context, name string) (float64, error) {
	begun := time.Now()
	proc, err := b.host(ctx, name)
	if err != nil {
		return 0, err
	}
	took := time.Since(begun).Seconds()
	return took, proc.Stop()
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
