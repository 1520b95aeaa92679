package matchmaker

import (
	"testing"
	"time"

	"troupe/messages"
)

// The result of every occurrence in every status: the next status with its reason, "!" if the ticket gets an
// event of its own, or "-" if the occurrence is not allowed.
func TestTransitions(t *testing.T) {
	const no = "-"
	for what, want := range [occurrences][4]string{ // QUEUED, SEARCHING, REQUIRES_ACCEPTANCE, PLACING
		ticketPooled:         {"SEARCHING !", no, no, no},
		matchProposed:        {"REQUIRES_ACCEPTANCE ", "REQUIRES_ACCEPTANCE ", no, no},
		matchPlacing:         {"PLACING ", "PLACING ", "PLACING ", no},
		matchCompleted:       {"COMPLETED ", "COMPLETED ", "COMPLETED ", "COMPLETED "},
		placementTimedOut:    {no, no, no, "SEARCHING PlacementTimedOut!"},
		placementFailed:      {no, no, no, "FAILED UNEXPECTED_ERROR"},
		fillRefused:          {no, no, no, "SEARCHING BackfillFailed!"},
		backfillRefused:      {no, no, no, "FAILED UNEXPECTED_ERROR!"},
		matchDropped:         {no, no, "SEARCHING AcceptanceFailed!", no},
		playerRejected:       {no, no, "CANCELLED AcceptanceFailed!", no},
		playerSilent:         {no, no, "CANCELLED AcceptanceFailed!", no},
		matchLost:            {no, no, "SEARCHING PlacementTimedOut", "SEARCHING PlacementTimedOut"},
		ticketCancelled:      {"CANCELLED Cancelled!", "CANCELLED Cancelled!", "CANCELLED Cancelled!", no},
		requestTimedOut:      {"TIMED_OUT TimedOut!", "TIMED_OUT TimedOut!", no, no},
		configurationDeleted: {"FAILED UNEXPECTED_ERROR!", "FAILED UNEXPECTED_ERROR!", no, no},
	} {
		what := occurrence(what)
		for status := messages.TicketQueued; status <= messages.TicketTimedOut; status++ {
			was := messages.Ticket{
				ID: "T", Status: status, Started: time.Unix(1000, 0), Match: "M", Players: []messages.TicketPlayer{{ID: "a", Team: "red"}},
				Reason: "old", Text: "old", Game: &messages.MatchedSession{ID: "G"},
			}
			r, now := was, time.Unix(1010, 0)
			next := after(&r, what, now, 11*time.Second)
			got := no
			if next != nil {
				got = next.Status.String() + " " + next.Reason
				if transitions[what].own {
					got += "!"
				}
			}
			wanted := no
			if status <= messages.TicketPlacing {
				wanted = want[status-messages.TicketQueued]
			}
			if got != wanted {
				t.Errorf("%d in %s: %s, want %s", what, status, got, wanted)
			}
			if next == nil {
				continue
			}
			ends, returns := next.Status.Final(), next.Status == messages.TicketSearching
			if r.Status != status || r.Players[0].Team != "red" || ends == next.Ended.IsZero() || ends != next.Ended.Equal(now) ||
				returns != (next.Match == "") || returns != (next.Players[0].Team == "") || next.Text == "old" ||
				(next.Game == nil) != (ends && next.Status != messages.TicketCompleted) {
				t.Errorf("%d in %s: %+v", what, status, next)
			}
			if returns { // a backfill ticket keeps its teams; a ticket that has timed out does not return to the pool
				r.Backfill = new(messages.Backfill)
				if kept := after(&r, what, now, 11*time.Second); kept.Players[0].Team != "red" {
					t.Errorf("%d in %s: %+v", what, status, kept)
				}
				if late := after(&r, what, now, 10*time.Second); late.Status != messages.TicketTimedOut || late.Reason != reasonTimedOut || late.Match != "M" {
					t.Errorf("%d in %s: %+v", what, status, late)
				}
			}
		}
	}
}
