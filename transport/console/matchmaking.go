package console

import (
	"net/http"
	"slices"
	"time"

	"troupe/messages"
)

type matchmaker struct {
	Name           string  `json:"name"`
	RuleSet        string  `json:"ruleSet"`
	Waiting        int     `json:"waiting"`
	Accepting      int     `json:"accepting"`
	Placing        int     `json:"placing"`
	Completed      int64   `json:"completed"` // counted since the start of matchmaking, like the three fields below
	TimedOut       int64   `json:"timedOut"`
	Cancelled      int64   `json:"cancelled"`
	Failed         int64   `json:"failed"`
	Longest        string  `json:"longestTicket"` // ticket that has waited longest; empty if none waits
	LongestSeconds float64 `json:"longestSeconds"`
	PassSeconds    float64 `json:"lastPassSeconds"`
}

func (c *Console) matchmaking(w http.ResponseWriter, r *http.Request, _ query) *problem {
	return answerList(c, w, r, messages.MatchmakerStateQuery{}, "configurations", func(s messages.MatchmakerState) matchmaker {
		return matchmaker{
			string(s.Name), string(s.RuleSet), s.Waiting, s.Accepting, s.Placing, s.Completed, s.TimedOut, s.Cancelled, s.Failed,
			string(s.Longest), s.LongestWait.Seconds(), s.LastPass.Seconds(),
		}
	})
}

// ticket is a matchmaking ticket that has not ended.
type ticket struct {
	Ticket        string     `json:"ticket"`
	Configuration string     `json:"configuration"`
	Status        string     `json:"status"`
	Players       []string   `json:"players"`
	Match         string     `json:"match"`       // id of its match; empty while it is searching
	Backfill      string     `json:"backfillFor"` // game session that searches for players; empty if it is not a backfill ticket
	Started       *time.Time `json:"started"`
}

// tickets lists tickets that have not ended. Those that have waited longest come first.
func (c *Console) tickets(w http.ResponseWriter, r *http.Request, q query) *problem {
	name := messages.MatchmakerName(q.text("configuration"))
	found, err := messages.Do(r.Context(), c.o.Backend, messages.TicketList{Matchmaker: name, Limit: q.numbers["limit"]})
	if err != nil {
		return refused(err)
	}
	if found.Matched == 0 && name != "" {
		states, err := messages.Do(r.Context(), c.o.Backend, messages.MatchmakerStateQuery{})
		if err != nil {
			return refused(err)
		}
		if !slices.ContainsFunc(states, func(one messages.MatchmakerState) bool { return one.Name == name }) {
			return unknown("matchmaking configuration", string(name))
		}
	}
	all := make([]ticket, len(found.Tickets))
	for i, t := range found.Tickets {
		all[i] = ticket{Ticket: string(t.ID), Configuration: string(t.Matchmaker), Status: t.Status.String(), Players: []string{}, Match: string(t.Match), Started: timeOf(t.Started)}
		for _, one := range t.Players {
			all[i].Players = append(all[i].Players, string(one.ID))
		}
		if t.Backfill != nil && t.Game != nil {
			all[i].Backfill = string(t.Game.ID)
		}
	}
	return answer(w, struct {
		Tickets []ticket `json:"tickets"`
		Matched int      `json:"matched"`
	}{all, found.Matched})
}

type ticketWait struct {
	Ticket        string        `json:"ticket"`
	Configuration string        `json:"configuration"`
	Status        string        `json:"status"`
	Says          string        `json:"says"`
	Started       *time.Time    `json:"started"`
	TimesOut      *time.Time    `json:"timesOut"` // null unless it is searching
	Searched      bool          `json:"searched"` // whether the fields below are known
	Others        int           `json:"others"`
	Sampled       int           `json:"sampled"`
	Fitting       int           `json:"fitting"`
	Players       int           `json:"players"`
	Needed        int           `json:"needed"`
	Blocked       []ticketBlock `json:"blocked"`
	Next          []ruleChange  `json:"nextChanges"`
	NextSeconds   *float64      `json:"nextSeconds"`      // null if no change is left
	Estimated     *float64      `json:"estimatedSeconds"` // null if too few tickets were matched recently
}

type ticketBlock struct {
	Rule    string `json:"rule"`
	Tickets int    `json:"tickets"`
	Example string `json:"example"`
}

type ruleChange struct {
	Target string `json:"target"`
	From   string `json:"from"`
	To     string `json:"to"`
}

func (c *Console) whyTicket(w http.ResponseWriter, r *http.Request, q query) *problem {
	return answerAsked(c, w, r, messages.WhyTicket{ID: messages.TicketID(q.text("ticket"))}, shownWait)
}

func shownWait(t *messages.TicketWait) ticketWait {
	return ticketWait{
		Ticket: string(t.ID), Configuration: string(t.Matchmaker), Status: t.Status.String(), Says: t.Says, Started: timeOf(t.Started), TimesOut: timeOf(t.TimesOut),
		Searched: t.Searched, Others: t.Others, Sampled: t.Sampled, Fitting: t.Fitting, Players: t.Players, Needed: t.Needed,
		Blocked:     shownAll(t.Blocked, func(b messages.TicketBlock) ticketBlock { return ticketBlock{b.Rule, b.Tickets, string(b.Example)} }),
		Next:        shownAll(t.Next, func(n messages.RuleChange) ruleChange { return ruleChange(n) }),
		NextSeconds: secondsOf(t.NextIn), Estimated: secondsOf(t.EstimatedWait),
	}
}

func secondsOf(d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	return new(d.Seconds())
}
