package matchmaker

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
)

const nearSkills = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":10}],
	"teams":[{"name":"all","minPlayers":3,"maxPlayers":3}],
	"rules":[{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":5}],
	"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":20,"value":50}]}]}`

func (w *world) why(id string) *messages.TicketWait {
	w.Helper()
	return assert.Value(request[messages.WhyTicket, *messages.TicketWait](w, messages.WhyTicket{ID: messages.TicketID(id)}))(w)
}

func (w *world) skilled(id string, skill float64) {
	w.Helper()
	_, err := request[messages.StartMatchmaking, *messages.Ticket](w, messages.StartMatchmaking{TicketID: messages.TicketID(id), Matchmaker: "m",
		Players: []messages.TicketPlayer{{ID: messages.PlayerID(id), Attributes: map[string]messages.Attribute{"skill": {Kind: messages.AttributeNumber, N: skill}}}}})
	assert.NoError(w, err)
}

// The explanation of a ticket in the pool contains the rule, the next expansion and the numbers. For each
// other state of a ticket there is a sentence.
func TestWhyATicketWaits(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.named("m", nearSkills, nil)
		w.skilled("T1", 100)
		if got := w.why("T1"); got.Searched || !strings.Contains(got.Says, "next search") {
			t.Errorf("%+v", got)
		}
		w.skilled("T2", 103)
		for i := range 4 {
			w.skilled(fmt.Sprintf("far%d", i), 200+20*float64(i))
		}
		w.pass()
		got := w.why("T1")
		if !got.Searched || got.Others != 5 || got.Sampled != 5 || got.Fitting != 1 || got.Players != 2 || got.Needed != 3 || got.TimesOut.Sub(got.Started) != time.Minute {
			t.Errorf("%+v", got)
		}
		if len(got.Blocked) != 1 || got.Blocked[0].Rule != "Near" || got.Blocked[0].Tickets != 4 || !strings.HasPrefix(string(got.Blocked[0].Example), "far") || !strings.Contains(got.Says, "Near") {
			t.Errorf("%+v %q", got.Blocked, got.Says)
		}
		if len(got.Next) != 1 || got.Next[0] != (messages.RuleChange{Target: "rules[Near].maxDistance", From: "5", To: "50"}) || got.NextIn != 19*time.Second {
			t.Errorf("%+v in %v", got.Next, got.NextIn)
		}
		if _, err := request[messages.WhyTicket, *messages.TicketWait](w, messages.WhyTicket{ID: "none"}); err == nil {
			t.Error("a ticket that there is not waits")
		}
		_ = w.stop("T1")
		if got := w.why("T1"); got.Searched || got.Says != "It has ended as CANCELLED." {
			t.Errorf("%+v", got)
		}
	})
	bubble(t, nil, func(w *world) {
		w.config(accepting)
		w.ask("T1", "a")
		w.pass()
		if got := w.why("T1"); got.Says != "No other ticket waits." {
			t.Errorf("%q", got.Says)
		}
		w.ask("T2", "b")
		w.pass()
		_ = w.answer(true, "T1", "a")
		if got := w.why("T1"); !strings.Contains(got.Says, "1 of 2 players have accepted; it waits for the others for 19s") {
			t.Errorf("%q", got.Says)
		}
		w.placer.set(func() { w.placer.hold = true })
		_ = w.answer(true, "T2", "b")
		if got := w.why("T1"); !strings.Contains(got.Says, "waits for its game session: see placement "+string(got.Match)) {
			t.Errorf("%q", got.Says)
		}
		states, err := request[messages.MatchmakerStateQuery, []messages.MatchmakerState](w, messages.MatchmakerStateQuery{})
		if err != nil || len(states) != 1 || states[0].Placing != 2 || states[0].Waiting != 0 {
			t.Errorf("%+v %v", states, err)
		}
		w.placer.release()
		synctest.Wait()
		w.ask("T3", "c")
		time.Sleep(3 * time.Second)
		states, err = request[messages.MatchmakerStateQuery, []messages.MatchmakerState](w, messages.MatchmakerStateQuery{})
		if s := states[0]; err != nil || s.Completed != 2 || s.Waiting != 1 || s.Longest != "T3" || s.LongestWait != 3*time.Second {
			t.Errorf("%+v %v", states, err)
		}
	})
}

// Operators see the tickets that have not ended, oldest first and up to the requested number, and the total
// number.
func TestTicketsAreListedOldestFirst(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.named("m", nearSkills, nil)
		w.named("other", nearSkills, nil)
		list := func(q messages.TicketList) (ids string, matched int) {
			t.Helper()
			found := assert.Value(request[messages.TicketList, messages.ListedTickets](w, q))(t)
			for _, one := range found.Tickets {
				ids += string(one.ID) + " "
			}
			return ids, found.Matched
		}
		for i := range 9 {
			w.skilled(fmt.Sprintf("T%d", 9-i), 1000*float64(i))
			time.Sleep(time.Second)
		}
		_ = w.stop("T8")
		for limit, want := range map[int]string{1: "T9 ", 3: "T9 T7 T6 ", 8: "T9 T7 T6 T5 T4 T3 T2 T1 ", 200: "T9 T7 T6 T5 T4 T3 T2 T1 "} {
			for _, name := range []messages.MatchmakerName{"", "m"} {
				if got, matched := list(messages.TicketList{Matchmaker: name, Limit: limit}); got != want || matched != 8 {
					t.Errorf("%q, %d: %s of %d, want %s", name, limit, got, matched, want)
				}
			}
		}
		if got, matched := list(messages.TicketList{Matchmaker: "other", Limit: 9}); got != "" || matched != 0 {
			t.Errorf("%s of %d", got, matched)
		}
	})
}

// A question is answered even while a pass is between two slices. Too many questions at a time are refused.
func TestWhyDuringAPass(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(nil)
		w.ask("T1", "a")
		w.pass()
		answered, refused := 0, 0
		for range 3 * whyMax {
			go func() {
				_, err := request[messages.WhyTicket, *messages.TicketWait](w, messages.WhyTicket{ID: "T1"})
				w.mu.Lock()
				defer w.mu.Unlock()
				if err == nil {
					answered++
				} else {
					refused++
					w.wantCode(err, messages.LimitExceeded)
				}
			}()
		}
		synctest.Wait()
		if answered == 0 || answered+refused != 3*whyMax {
			t.Errorf("%d answered, %d refused", answered, refused)
		}
		w.ask("T2", "b")
		w.pass()
		w.want("T1 COMPLETED")
	})
}

// EstimatedWaitTime appears once ten tickets were matched recently. It is the remaining wait of tickets that
// had waited as long. It disappears when no ticket was matched for ten minutes.
func TestTheEstimateIsHonest(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(func(r *messages.Matchmaker) { r.RequestTimeout = time.Hour })
		estimate := func(id string) time.Duration { return w.ticket(id).EstimatedWait }
		for i := range 5 {
			a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
			w.ask(a, a)
			if e := estimate(a); e != 0 {
				t.Errorf("after %d matches: %v", i, e)
			}
			time.Sleep(30 * time.Second)
			w.ask(b, b)
			w.pass()
			synctest.Wait()
			w.want(a+" COMPLETED", b+" COMPLETED")
		}
		w.ask("T1", "x")
		if e := estimate("T1"); e < 29*time.Second || e > 32*time.Second {
			t.Errorf("estimated %v; half of the tickets waited 30 s and more", e)
		}
		w.pass()
		said, _ := w.detail("MatchmakingSearching")["estimatedWaitMillis"].(string)
		if ms, err := strconv.Atoi(said); err != nil || ms < 29_000 || ms > 32_000 { // FM-36
			t.Errorf("the event says %q", said)
		}
		time.Sleep(20 * time.Second)
		assert.Equal(t, "estimated of five that waited 20 s", estimate("T1"), 0)
		time.Sleep(15 * time.Minute)
		w.ask("T2", "y")
		assert.Equal(t, "estimated by matches of long ago", estimate("T2"), 0)
	})
}
