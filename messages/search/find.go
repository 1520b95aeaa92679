package search

import (
	"iter"

	"troupe/messages"
)

// Find answers a query. all yields each game session with its number of player sessions that are RESERVED or ACTIVE. It
// must not yield game sessions of other fleets. Find visits all of them and copies those that it returns. The error is
// InvalidRequest if an expression is invalid.
func Find(q *messages.FindGameSessions, all iter.Seq2[*messages.GameSession, int]) (out messages.FoundGameSessions, err error) {
	filter, order := (*Filter)(nil), Oldest()
	if q.Newest {
		order = Newest()
	}
	if q.Filter != "" {
		if filter, err = ParseFilter(q.Filter); err != nil {
			return out, messages.Errorf(messages.InvalidRequest, "filter: %v", err)
		}
	}
	if q.Sort != "" {
		if order, err = ParseSort(q.Sort); err != nil {
			return out, messages.Errorf(messages.InvalidRequest, "sort: %v", err)
		}
	}
	selected := func(yield func(*messages.GameSession, int) bool) {
		for g, players := range all {
			if (q.Status == 0 || g.Status == q.Status) && (q.Location == "" || g.Location == q.Location) && filter.Matches(g, players) && !yield(g, players) {
				return
			}
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 1<<31 - 2
	}
	after := q.After
	if after != nil {
		whole := order.whole(*after, q.TextMax, selected)
		after = &whole
	}
	found := order.First(limit+1, func(yield func(*messages.GameSession, int) bool) {
		for g, players := range selected {
			if out.Matched++; !yield(g, players) {
				return
			}
		}
	}, nil, after)
	if len(found) > limit {
		found = found[:limit]
		last := found[limit-1]
		next := order.Shorten(order.Position(last.GameSession, last.Players), q.TextMax)
		out.Next = &next
	}
	out.GameSessions = make([]*messages.GameSession, len(found))
	for i, f := range found {
		g := *f.GameSession
		g.CurrentPlayers = f.Players
		out.GameSessions[i] = &g
	}
	return out, nil
}

// whole restores a position whose text was cut. It reads the text from the game session, if that still exists and its
// text still begins in the same way.
func (s *Sort) whole(p Position, n int, all iter.Seq2[*messages.GameSession, int]) Position {
	if p.Cut {
		for g, players := range all {
			if g.ID == p.ID {
				if now := s.Position(g, players); s.Shorten(now, n) == p {
					return now
				}
				break
			}
		}
	}
	return p
}
