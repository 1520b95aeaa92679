package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
)

// list returns placements for operators, newest first. It contains all PENDING placements, and ended ones among the
// last listedMax that ended.
func (m *Manager) list(c *stage.Context, q messages.PlacementList) []messages.PlacementState {
	wanted := func(e *entry) bool {
		r := e.record
		return (q.ID == "" || r.Request.ID == q.ID) && (q.Queue == "" || r.Request.Queue == q.Queue) && (q.Status == 0 || r.Status == q.Status)
	}
	var found []*entry
	for _, e := range m.due {
		if wanted(e) {
			found = append(found, e)
		}
	}
	now := c.Now()
	for id := range m.retention.Newest(listedMax) {
		if e := m.placements[messages.PlacementID(id)]; !m.retention.Expired(&e.kept, now) && wanted(e) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *entry) int {
		return cmp.Or(b.record.Started.Compare(a.record.Started), cmp.Compare(a.id(), b.id()))
	})
	shown := make([]messages.PlacementState, min(len(found), q.Limit))
	for i := range shown {
		e := found[i]
		shown[i].Placement, shown[i].Waits = e.record, e.record.Waited
		if !e.record.Status.Final() {
			shown[i].Waits, shown[i].TimesOut = e.waits(time.Now()), e.record.Started.Add(e.queue.record.Timeout)
		}
	}
	return shown
}

// listedMax limits the number of ended placements that a list examines.
const listedMax = 10_000

// waitedMax limits the length of the text that an ended placement keeps, in bytes.
const waitedMax = 600

// waited returns the reason for which a placement that ends now was last waiting. For a FULFILLED placement it returns
// only the number of passes without room. A detailed text for each such pass would be too expensive while ten thousand
// placements wait.
func (e *entry) waited(fulfilled bool) string {
	switch {
	case fulfilled && e.passes == 0:
		return ""
	case fulfilled:
		return fmt.Sprintf("its destinations had no room that it may use, %d times", e.passes)
	}
	text := e.waits(time.Now())
	if len(text) > waitedMax {
		text = strings.ToValidUTF8(text[:waitedMax], "") + " ..."
	}
	return text
}

// waits returns the reason why a placement has no game session yet.
func (e *entry) waits(now time.Time) string {
	q := e.queue
	switch {
	case q.deleted:
		return "its queue was deleted"
	case e.state == launching:
		return "the host is asked for a game session"
	case e.state == activating:
		return "its game session is ACTIVATING"
	case e.state == reserving:
		return "its player sessions are being reserved"
	case e.state == ending:
		return "its end is being stored"
	case q.noDestination != nil:
		return "no destination of the queue takes placements: " + q.noDestination.Error()
	case q.pass.room == nil:
		return "its first pass has not begun"
	}
	return e.ranking.waits(q.record, now.Sub(e.start), e.passes == 0, q.pass.candidates, q.pass.room)
}

// waits describes the candidates of the last pass at the time t after the placement's start: which of them are
// excluded, by which rule, and which are full.
func (k *Ranking) waits(q *messages.Queue, t time.Duration, first bool, candidates []messages.Candidate, room map[destination]bool) string {
	most, left, capped := latencyCap(q.Policies, t)
	until := "until the placement times out"
	if left > 0 {
		until = fmt.Sprintf("for another %.0f s", left.Seconds())
	}
	alone := len(k.override) > 0 && (first || k.only)
	var reasons []string
	said := make(map[destination]bool)
	for _, c := range candidates {
		d := destinationOf(c)
		if said[d] {
			continue
		}
		said[d] = true
		why := "is full"
		switch latency := k.latencies[c.Location].most; {
		case q.AllowedLocations != nil && !slices.Contains(q.AllowedLocations, c.Location):
			why = "is not among the queue's allowed locations"
		case alone && !slices.Contains(k.override, c.Location):
			why = "is not among the placement's own locations"
		case capped && latency > float64(most):
			why = fmt.Sprintf("has a player with %.0f ms, and %d ms are allowed %s", latency, most, until)
		case room[d]:
			why = "has room since the last pass"
		}
		if len(reasons) < reasonsMax {
			reasons = append(reasons, fmt.Sprintf("%s in %s %s", c.FleetID, c.Location, why))
		}
	}
	switch {
	case len(reasons) == 0:
		return "the queue has no destination"
	case len(said) > len(reasons):
		reasons = append(reasons, fmt.Sprintf("and %d more", len(said)-len(reasons)))
	}
	return strings.Join(reasons, "; ")
}

// reasonsMax limits the number of candidates that the text names.
const reasonsMax = 8
