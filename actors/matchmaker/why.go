package matchmaker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"troupe/actors/matchmaker/match"
	"troupe/actors/stage"
	"troupe/messages"
)

const (
	// whySample is the maximum number of tickets with which an answer compares the ticket. A comparison takes
	// about a microsecond.
	whySample = 2000
	// whyMax is the maximum number of questions that wait for the end of a slice.
	whyMax = 16
)

var (
	errNoPool   = messages.Errorf(messages.Unavailable, "the search for matches of this configuration is rebuilt: try again")
	errAsked    = messages.Errorf(messages.LimitExceeded, "too many ask why tickets wait: try again")
	errNotTaken = errors.New("the ticket is not in the pool")
)

// states returns the figures of all configurations, oldest first.
func (m *Manager) states(c *stage.Context) []messages.MatchmakerState {
	all := make([]messages.MatchmakerState, 0, len(m.matchmakers))
	now := c.Now()
	for _, r := range m.allMatchmakers() {
		k := m.matchmakers[r.Name]
		s := messages.MatchmakerState{
			Matchmaker: r, Completed: k.ended[messages.TicketCompleted], TimedOut: k.ended[messages.TicketTimedOut],
			Cancelled: k.ended[messages.TicketCancelled], Failed: k.ended[messages.TicketFailed], LastPass: k.lastPass,
		}
		var longest *ticket
		for _, t := range k.tickets {
			switch {
			case t.waits():
				s.Waiting++
				if longest == nil || t.record.Started.Before(longest.record.Started) {
					longest = t
				}
			case t.proposal.record.Placing:
				s.Placing++
			default:
				s.Accepting++
			}
		}
		if longest != nil {
			s.Longest, s.LongestWait = longest.id(), now.Sub(longest.record.Started)
		}
		all = append(all, s)
	}
	return all
}

// listed returns the tickets that have not ended, oldest first. It collects at most q.Limit tickets, because
// there may be 100,000.
func (m *Manager) listed(q messages.TicketList) messages.ListedTickets {
	oldest := func(a, b *messages.Ticket) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	}
	var out messages.ListedTickets
	for name, k := range m.matchmakers {
		if q.Matchmaker != "" && q.Matchmaker != name {
			continue
		}
		for _, t := range k.tickets {
			out.Matched++
			i, _ := slices.BinarySearchFunc(out.Tickets, t.record, oldest)
			if i >= q.Limit {
				continue
			}
			if len(out.Tickets) == q.Limit {
				out.Tickets = out.Tickets[:q.Limit-1]
			}
			out.Tickets = slices.Insert(out.Tickets, i, t.record)
		}
	}
	return out
}

// onWhy answers why a ticket has not been matched. If the ticket is in the pool, the matcher answers.
func (m *Manager) onWhy(c *stage.Context, r stage.Request[messages.WhyTicket, *messages.TicketWait]) {
	t, err := m.find(c, r.Request.ID)
	if err != nil {
		r.Reply(nil, err)
		return
	}
	out := &messages.TicketWait{Ticket: t.record}
	switch {
	case t.record.Status.Final():
		out.Says = "It has ended as " + t.record.Status.String() + "."
	case t.proposal != nil && t.proposal.record.Placing:
		out.Says = fmt.Sprintf("It is in match %s, which waits for its game session: see placement %[1]s.", t.proposal.record.ID)
	case t.proposal != nil:
		p := t.proposal
		players := 0
		for _, team := range p.record.Teams {
			players += len(team.Players)
		}
		out.Says = fmt.Sprintf("It is in match %s, which %d of %d players have accepted; it waits for the others for %v more.",
			p.record.ID, len(p.record.Answers), players, time.Until(p.deadline.at).Round(time.Second))
	case t.k.rules == nil:
		out.Says = fmt.Sprintf("The rule set %s of its configuration does not exist: it waits for its timeout.", t.k.record.RuleSet)
	case m.draining:
		out.Says = "The host is shutting down, and does not search for matches."
	case t.proposing:
		out.Says = "A match with it is being stored."
	}
	if out.Says != "" {
		r.Reply(out, nil)
		return
	}
	out.TimesOut = t.record.Started.Add(t.k.record.RequestTimeout)
	out.Ticket = t.estimated(c.Now())
	q := question{t.id(), func(e match.Explanation, err error) {
		if err != nil && !errors.Is(err, errNotTaken) {
			r.Reply(nil, err)
			return
		}
		explain(out, &e, err)
		r.Reply(out, nil)
	}}
	if t.k.matcher == nil {
		r.Reply(nil, errNoPool)
		return
	}
	t.k.matcher.Tell(q)
}

// OnDeadLetter implements stage.DeadLetter. It is called when the matcher has stopped.
func (q question) OnDeadLetter() { q.reply(match.Explanation{}, errNoPool) }

// onQuestion queues a question for the next slice, because only slices may use the pool. It answers some
// questions at once.
func (a *matcher) onQuestion(c *stage.Context, q question) {
	taken := !slices.ContainsFunc(a.adds, func(t match.Ticket) bool { return t.ID == string(q.ticket) })
	switch err := a.misfits[q.ticket]; {
	case err != nil:
		q.reply(match.Explanation{Never: "the rule set refuses it: " + err.Error()}, nil)
	case !taken:
		q.reply(match.Explanation{}, errNotTaken)
	case len(a.questions) >= whyMax:
		q.reply(match.Explanation{}, errAsked)
	default:
		a.questions = append(a.questions, q)
		if !a.running {
			a.run(c, nil)
		}
	}
}

func explain(out *messages.TicketWait, e *match.Explanation, err error) {
	if err != nil {
		out.Says = "The next search for matches begins with it."
		return
	}
	out.Searched = true
	out.Others, out.Sampled, out.Fitting, out.Players, out.Needed = e.Others, e.Sampled, e.Compatible, e.Players, e.Needed
	for _, b := range e.Blocked {
		out.Blocked = append(out.Blocked, messages.TicketBlock{Rule: b.Rule, Tickets: b.Tickets, Example: messages.TicketID(b.Example)})
	}
	slices.SortStableFunc(out.Blocked, func(a, b messages.TicketBlock) int { return cmp.Compare(b.Tickets, a.Tickets) })
	for _, n := range e.Next {
		out.Next = append(out.Next, messages.RuleChange{Target: n.Target, From: n.From, To: n.To})
	}
	out.NextIn = e.NextIn
	switch {
	case e.Never != "":
		out.Says = "It cannot be matched: " + e.Never + "."
	case e.Others == 0:
		out.Says = "No other ticket waits."
	case out.Players < out.Needed && len(out.Blocked) > 0:
		out.Says = fmt.Sprintf("Too few tickets fit: rules keep most of the others from it, above all %s.", out.Blocked[0].Rule)
	case out.Players < out.Needed:
		out.Says = fmt.Sprintf("Too few players wait: a match needs %d, and there are %d.", out.Needed, out.Players)
	case e.Cut:
		out.Says = "Enough tickets fit it, one by one. The last search stopped at its limit before it had tried all sets of them: there may be a match."
	default:
		out.Says = "Enough tickets fit it, one by one. What they are together breaks a rule, or does not fill the teams."
	}
}
