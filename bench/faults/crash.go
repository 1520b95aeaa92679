package faults

import (
	"context"
	"fmt"
	"time"

	"troupe/bench/server"
)

// endedMax is how long players and the API may take to know that a game ended with its host: the figure of RL-114.
const endedMax = 10 * time.Second

// judgeCrash judges a host that was killed and started again.
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
	status := ""
	for deadline := r.restarted.Add(endedMax); ; {
		if status, err = r.proc.Status(ctx, room.Session); err != nil {
			return nil, err
		}
		if status == "TERMINATED" || time.Now().After(deadline) {
			break
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	all = append(all, judge("RL-16", "the API shows the game session as ended within 10 s of the restart", status == "TERMINATED", "status %q", status))

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

func session(status string) string {
	if status == "" {
		return "the game session is forgotten"
	}
	return fmt.Sprintf("the game session is known (%s)", status)
}
