package gamesession

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// fill is a match that added players to the game session.
type fill struct {
	match   messages.MatchID
	pending bool // the match's player sessions are not yet durable
}

// fillsMax limits the number of remembered matches. Matchmaking repeats only matches whose tickets are PLACING, which
// are very few.
const fillsMax = 16

// asksMax limits the game's requests for backfill within restartWindow.
const asksMax = 20

// onFill adds the players of a match. It handles each match only once.
func (a *Actor) onFill(m stage.Request[Fill, []*messages.PlayerSession]) {
	q := m.Request.FillGameSession
	if i := a.fillOf(q.Match); i >= 0 {
		if a.fills[i].pending {
			m.Reply(nil, messages.Errorf(messages.Unavailable, "the player sessions of match %s are being stored", q.Match))
		} else {
			m.Reply(nil, nil)
		}
		return
	}
	if a.createPlayers(q.Players, &q, m.Reply) {
		if len(a.fills) == fillsMax {
			a.fills = slices.Delete(a.fills, 0, 1)
		}
		a.fills = append(a.fills, fill{q.Match, true})
	}
}

// fillOf returns the index of a match in a.fills, or -1 if the match has not added players.
func (a *Actor) fillOf(id messages.MatchID) int {
	return slices.IndexFunc(a.fills, func(f fill) bool { return f.match == id })
}

// onFillStored records whether the players of a match are durable. If the store refused them, the same match may be
// tried again.
func (a *Actor) onFillStored(id messages.MatchID, refused bool) {
	i := a.fillOf(id)
	switch {
	case i < 0:
	case refused:
		a.fills = slices.Delete(a.fills, i, i+1)
	default:
		a.fills[i].pending = false
	}
}

// onUpdated tells the game about the result of a backfill request.
func (a *Actor) onUpdated(m Updated) {
	if a.relay || a.phase < active || a.assignment != started {
		return
	}
	g := a.o.Publisher.Session()
	a.callback("onUpdateGameSession", func() {
		a.o.Handler.OnUpdateGameSession(g, script.Update{Reason: m.Reason, TicketID: m.Ticket})
	})
}

func (s *session) StartMatchBackfill() messages.TicketID {
	id := messages.TicketID(uuid.NewString())
	if !s.askBackfill(messages.AskBackfill{Ticket: id}) {
		return ""
	}
	return id
}

func (s *session) StopMatchBackfill() { s.askBackfill(messages.AskBackfill{Stop: true}) }

// askBackfill forwards a backfill request to matchmaking. It reports whether the request was forwarded.
func (s *session) askBackfill(ask messages.AskBackfill) bool {
	switch {
	case s.exit != nil || s.assignment != started || s.phase > active:
		return false
	case !s.backfills.allow(time.Now().UnixNano(), asksMax):
		if s.backfills.count == asksMax+1 { // log only once, no matter how often the script asks
			s.o.Log.Host(script.LevelWarn, fmt.Sprintf("requests for backfill are left out: there were more than %d in %v", asksMax, restartWindow))
		}
		return false
	}
	for _, p := range s.order {
		if p.presence >= leaving && !p.view.state().Final() {
			ask.Leaving = append(ask.Leaving, p.player.PlayerID)
		}
	}
	s.o.Fleet.Tell(BackfillAsked{Session: s.record.ID, AskBackfill: ask})
	return true
}
