package faults

import (
	"context"
	"fmt"
	"time"

	"troupe/bench/server"
)

// endedMax is how long it may take until players and the API learn that a game session ended with its host (RL-114).
const endedMax = 10 * time.Second

// otherGames is the number of game sessions without players on a host that will be killed. With the session that the
// players are in, it makes the 100 that RL-114 requires.
const otherGames = 99

// openOthers opens the otherGames game sessions and waits until they are active.
func (r *run) openOthers(ctx context.Context) error {
	for range otherGames {
		id, err := r.proc.CreateGameSession(ctx, ownFleet, 2)
		if err != nil {
			return err
		}
		r.others = append(r.others, id)
	}
	for _, id := range r.others {
		if err := r.proc.AwaitActive(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// judgeCrash judges the behaviour of a host that was killed and restarted.
func (r *run) judgeCrash(ctx context.Context, players *crew, room server.Room) (all []Verdict, err error) {
	deadline := time.NewTimer(time.Until(r.restarted.Add(endedMax)))
	defer deadline.Stop()
	hanging := 0
	late := false
	for _, p := range players.players {
		if !late {
			select {
			case <-p.c.Done():
				continue
			case <-deadline.C:
				late = true
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		select {
		case <-p.c.Done():
		default:
			hanging++
		}
	}
	all = append(all, judge("RL-2", "a player whose game died with its host is told so within 10 s of the restart", hanging == 0,
		"%d of %d were not; player 0: %s", hanging, len(players.players), players.players[0].c.End()))

	api := r.proc.API(1)
	defer api.Close()
	status, open := "", 0
	for _, id := range append([]string{room.Session}, r.others...) {
		got, err := r.awaitTerminated(ctx, id)
		if err != nil {
			return nil, err
		}
		if id == room.Session {
			status = got
		}
		if got != "TERMINATED" {
			open++
		}
	}
	all = append(all, judge("RL-16", "the API shows all game sessions as ended within 10 s of the restart", open == 0,
		"%d of %d are not, the one that was played has the status %q", open, 1+len(r.others), status))

	unknown := 0
	for _, id := range room.IDs {
		in := struct{ PlayerSessionId string }{id}
		var out struct {
			PlayerSessions []struct{ PlayerSessionId string }
		}
		if err := api.Call(ctx, "DescribePlayerSessions", in, &out); err != nil || len(out.PlayerSessions) != 1 {
			unknown++
		}
	}
	return append(all, judge("RL-18", "what the API has answered survives the crash", unknown == 0 && status != "",
		"%s, %d of %d player sessions forgotten", session(status), unknown, len(room.IDs))), nil
}

// awaitTerminated waits until the API reports that a game session has terminated. It returns the last status.
func (r *run) awaitTerminated(ctx context.Context, id string) (status string, err error) {
	for deadline := r.restarted.Add(endedMax); ; {
		if status, err = r.proc.Status(ctx, id); err != nil || status == "TERMINATED" || time.Now().After(deadline) {
			return status, err
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return status, err
		}
	}
}

func session(status string) string {
	if status == "" {
		return "the game session is forgotten"
	}
	return fmt.Sprintf("the game session is known (%s)", status)
}
