package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"troupe/bench/server"
)

// ticket starts matchmaking for one player of its own.
func (c caller) ticket(ctx context.Context, n int) error {
	id := fmt.Sprintf("ticket-%d", n)
	in := struct {
		ConfigurationName, TicketId string
		Players                     []player
	}{"duel", id, []player{{"of-" + id}}}
	if err := c.api.Call(ctx, "StartMatchmaking", in, new(struct{})); err != nil {
		return err
	}
	c.made.mu.Lock()
	defer c.made.mu.Unlock()
	c.made.tickets = append(c.made.tickets, id)
	return nil
}

// matched is how a ticket ended.
type matched struct{ game, seat string }

// checkTickets waits for the match of each ticket. Each must be COMPLETED with one seat, in a game session of two such players that
// the seat is in; and be in one event of a match that succeeded.
func (b *bench) checkTickets(ctx context.Context, api *server.API, m *made, r *row, lost func(what, id string, err error)) {
	r.Tickets += len(m.tickets)
	if len(m.tickets)%2 == 1 { // a partner for the last one, whose start may have had no answer
		c := caller{api, &made{}, b.book, 0}
		if err := c.ticket(ctx, b.book.number()); err != nil {
			lost("ticket", "of the partner", err)
		}
	}
	ends := make(map[string]matched)
	deadline := time.Now().Add(endLimit)
	partners := 0
	for _, id := range m.tickets {
		for {
			got, status, err := describeTicket(ctx, api, id)
			if err == nil && status == "COMPLETED" {
				ends[id] = got
				break
			}
			if err == nil && status != "QUEUED" && status != "SEARCHING" && status != "PLACING" {
				err = fmt.Errorf("is %s", status)
			}
			if err == nil && time.Now().After(deadline) {
				err = fmt.Errorf("still %s", status)
			}
			if err != nil {
				lost("ticket", id, err)
				break
			}
			// One whose start was not answered may have taken the partner of the last one.
			if partners < 3 && time.Now().After(deadline.Add(-endLimit+time.Duration(partners+1)*2*time.Second)) {
				partners++
				c := caller{api, &made{}, b.book, 0}
				_ = c.ticket(ctx, b.book.number())
			}
			if rest(ctx, 20*time.Millisecond) != nil {
				return
			}
		}
	}
	seats := make(map[string]string)
	for id, e := range ends {
		var out struct {
			PlayerSessions []struct{ PlayerSessionId, GameSessionId, PlayerId string }
		}
		err := api.Call(ctx, "DescribePlayerSessions", struct{ PlayerId string }{"of-" + id}, &out)
		live := 0
		for _, s := range out.PlayerSessions {
			if s.GameSessionId == e.game {
				live++
			}
		}
		switch {
		case err != nil:
		case live != 1:
			err = fmt.Errorf("its player has %d seats in its game session", live)
		case seats[e.seat] != "":
			err = fmt.Errorf("has the seat of %s", seats[e.seat])
		}
		if err != nil {
			lost("ticket", id, err)
		}
		seats[e.seat] = id
	}
	for {
		told, err := b.succeeded()
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
			return
		}
		once, wrong := 0, ""
		for id := range ends {
			if told[id] == 1 {
				once++
			} else {
				wrong = fmt.Sprintf("ticket %s has %d matches that succeeded", id, told[id])
			}
		}
		if once == len(ends) || time.Now().After(deadline.Add(5*time.Second)) || rest(ctx, 50*time.Millisecond) != nil {
			r.Matched += once
			if wrong != "" && once < len(ends) {
				r.Errors = append(r.Errors, wrong)
			}
			return
		}
	}
}

func describeTicket(ctx context.Context, api *server.API, id string) (m matched, status string, err error) {
	var out struct {
		TicketList []struct {
			Status                    string
			GameSessionConnectionInfo struct {
				GameSessionArn        string
				MatchedPlayerSessions []struct{ PlayerSessionId string }
			}
		}
	}
	if err := api.Call(ctx, "DescribeMatchmaking", struct{ TicketIds []string }{[]string{id}}, &out); err != nil {
		return m, "", err
	}
	if len(out.TicketList) != 1 {
		return m, "", errors.New("not there")
	}
	t := out.TicketList[0]
	if t.Status != "COMPLETED" {
		return m, t.Status, nil
	}
	if n := len(t.GameSessionConnectionInfo.MatchedPlayerSessions); n != 1 {
		return m, "", fmt.Errorf("is COMPLETED with %d seats", n)
	}
	return matched{t.GameSessionConnectionInfo.GameSessionArn, t.GameSessionConnectionInfo.MatchedPlayerSessions[0].PlayerSessionId}, t.Status, nil
}

// succeeded reads the file of events: in how many matches that succeeded each ticket is.
func (b *bench) succeeded() (map[string]int, error) {
	f, err := os.Open(b.eventFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	told, seen := make(map[string]int), make(map[string]bool)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), "MatchmakingSucceeded") {
			continue
		}
		var e struct {
			ID     string
			Detail struct {
				Tickets []struct{ TicketID string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || seen[e.ID] {
			continue // a line that a kill cut; or one more delivery of the same event
		}
		seen[e.ID] = true
		for _, t := range e.Detail.Tickets {
			told[t.TicketID]++
		}
	}
	return told, lines.Err()
}
