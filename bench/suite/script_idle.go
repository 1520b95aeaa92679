package suite

import (
	"context"
	"errors"
	"maps"
	"time"

	"troupe/bench/result"
	"troupe/bench/server"
)

func idleScriptsLast(p Params) time.Duration {
	return aboutStart + time.Duration(p.Rooms)*5*time.Millisecond + min(settle, p.Rest) + p.Rest
}

// settle is the time after the last game session was created in which the host ends what its start has begun.
const settle = 10 * time.Second

// idleScripts creates game sessions, and reads CPU and memory of the host while nobody plays in them.
func (r *run) idleScripts(ctx context.Context, spec server.Spec) (round result.Round, err error) {
	round.Figures = make(result.Figures)
	f := round.Figures
	err = r.with(ctx, spec, func(proc *server.Process) error {
		if err := rest(ctx, min(restBefore, r.p.Rest)); err != nil {
			return err
		}
		before, err := proc.Usage()
		if err != nil {
			return err
		}
		begun := time.Now()
		if _, err := r.sessions(ctx, proc, spec.FleetID); err != nil {
			return errors.Join(err, proc.Alive())
		}
		f.Set("sessions_per_s", float64(r.p.Rooms)/time.Since(begun).Seconds())
		if err := rest(ctx, min(settle, r.p.Rest)); err != nil {
			return err
		}
		m := r.meter(proc, nil)
		if err := m.read(&m.start); err != nil {
			return err
		}
		if err := rest(ctx, r.p.Rest); err != nil {
			return err
		}
		if err := m.read(&m.end); err != nil {
			return err
		}
		maps.Copy(f, m.figures())
		f.Set("kib_per_session", float64(m.end.usage.RSSBytes-before.RSSBytes)/1024/float64(r.p.Rooms))
		return nil
	})
	return round, err
}

// sessions creates r.p.Rooms game sessions of a fleet and waits until all are ACTIVE.
func (r *run) sessions(ctx context.Context, proc *server.Process, fleet string) (ids []string, err error) {
	for range r.p.Rooms {
		id, err := proc.CreateGameSession(ctx, fleet, 8)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if err := proc.AwaitActive(ctx, id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
