package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/actors/script"
	"troupe/actors/sessionlog"
	"troupe/actors/store"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/messages"
)

// Names of subjects.
const (
	emptyStore = "empty store"
	fullStore  = "full store"
	oldLogs    = "old logs"
)

// sample holds the records of one game session with its players and its placement, as a killed host leaves them in its
// store.
type sample struct {
	game, placement string // ids
	records         []store.Change
}

// take runs a host to create the sample.
func (r *run) take(ctx context.Context) (s sample, err error) {
	spec, err := r.stored("sample.db")
	if err != nil {
		return s, err
	}
	proc, err := server.Start(ctx, spec)
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
	for i := range r.p.Players - 2 { // the placement has two players already
		in := struct{ GameSessionId, PlayerId string }{s.game, fmt.Sprintf("player-%d", i)}
		if err := api.Call(ctx, "CreatePlayerSession", in, new(struct{})); err != nil {
			return s, err
		}
	}
	proc.Kill()
	kept, err := store.Open(store.Options{Path: filepath.Join(r.dir, "sample.db")})
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

// copies returns the records of the sample with different ids.
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

// fill creates a store with r.p.Rooms copies of the sample.
func (r *run) fill(name string, s sample) error {
	kept, err := store.Open(store.Options{Path: filepath.Join(r.dir, name)})
	if err != nil {
		return err
	}
	var failed error
	for n := 0; n < r.p.Rooms; {
		var batch []store.Change
		for ; len(batch) < 1000 && n < r.p.Rooms; n++ {
			batch = append(batch, s.copies(n)...)
		}
		kept.Commit(batch, func(err error) { failed = errors.Join(failed, err) })
		kept.Flush()
	}
	return errors.Join(failed, kept.Close())
}

// oldLogsDir is the folder of the logs of earlier game sessions, in the folder of the run.
const oldLogsDir = "old-logs"

// fillLogs creates the logs of r.p.Rooms game sessions that ended in an earlier process.
func (r *run) fillLogs() error {
	kept, err := sessionlog.Open(filepath.Join(r.dir, oldLogsDir), sessionlog.Options{})
	if err != nil {
		return err
	}
	defer kept.Close()
	for n := range r.p.Rooms {
		log := kept.Open(messages.GameSessionID(fmt.Sprintf("arn:aws:gamelift:us-east-1::gamesession/%s/gsess-%036d", serviceFleet, n)))
		log.Write(script.Line{Time: time.Now(), Level: script.LevelInfo, File: "main.js", Row: 1, Text: "hello"})
		log.Close()
	}
	return nil
}

// starts returns the subjects: starts with an empty and with a full store, and with many logs of earlier game sessions.
func (r *run) starts() []subject {
	full, logged := "", false // created once
	each := func(name string, prepare func(ctx context.Context, file string) error, sets ...string) subject {
		round := 0
		return r.subject(name, r.host(), func(ctx context.Context) (result.Round, error) {
			round++
			file := fmt.Sprintf("%s-%d.db", fileName(name), round)
			if err := prepare(ctx, file); err != nil {
				return result.Round{}, err
			}
			return r.timedStart(ctx, file, sets...)
		})
	}
	return []subject{
		each(emptyStore, func(context.Context, string) error { return nil }),
		each(fullStore, func(ctx context.Context, file string) error {
			if full == "" {
				s, err := r.take(ctx)
				if err == nil {
					err = r.fill("full.db", s)
				}
				if err != nil {
					return fmt.Errorf("fill a store: %w", err)
				}
				full = "full.db"
			}
			return copyFile(filepath.Join(r.dir, full), filepath.Join(r.dir, file))
		}),
		each(oldLogs, func(context.Context, string) error {
			if logged {
				return nil
			}
			logged = true
			return r.fillLogs()
		}, "log.gameSessions.dir="+filepath.Join(r.dir, oldLogsDir)),
	}
}

// timedStart measures the time from the start of the process until it has announced its addresses. It reads CPU and
// memory when the host knows the logs of earlier game sessions, too.
func (r *run) timedStart(ctx context.Context, file string, sets ...string) (round result.Round, err error) {
	spec, err := r.stored(file)
	if err != nil {
		return round, err
	}
	spec.Sets = append(spec.Sets, sets...)
	begun := time.Now()
	proc, err := server.Start(ctx, spec)
	if err != nil {
		return round, err
	}
	took := time.Since(begun)
	defer func() { err = errors.Join(err, proc.Stop()) }()
	if _, err := proc.GameSessionLog(ctx, "none"); err != nil {
		return round, err
	}
	u, err := proc.Usage()
	if err != nil {
		return round, err
	}
	info, err := os.Stat(filepath.Join(r.dir, file))
	if err != nil {
		return round, fmt.Errorf("store: %w", err)
	}
	round.Figures = make(result.Figures)
	f := round.Figures
	f.Set("start_s", took.Seconds())
	f.Set("cpu_start_s", u.CPU().Seconds())
	f.Set("resident_mib", float64(u.RSSBytes)/(1<<20))
	f.Set("store_mib", float64(info.Size())/(1<<20))
	return round, nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
