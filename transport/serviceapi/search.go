package serviceapi

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/messages"
	"troupe/transport/serviceapi/search"
)

const (
	searchOperation = "SearchGameSessions"
	// searchTextMax bounds the text of a position in a token: a token may have 1,024
	// characters, and a name may be longer.
	searchTextMax = 380
)

// searchGameSessions lists the ACTIVE game sessions of a fleet that match the filter
// (service-api.md 4), in the order of the sort expression, or oldest first without one.
func (s *Server) searchGameSessions(ctx context.Context, in *gamelift.SearchGameSessionsInput) (*gameSessionsOutput, error) {
	fleet, alias, err := s.fleetOrAlias(in.FleetId, in.AliasId)
	if err != nil {
		return nil, err
	}
	filter, order, err := searchExpressions(in)
	if err != nil {
		return nil, err
	}
	bound, err := filterHash(in)
	if err != nil {
		return nil, err
	}
	var last *searchToken
	if in.NextToken != nil {
		raw, ok := s.pager.openBytes(*in.NextToken, searchOperation, bound)
		if last = parseSearchToken(raw); !ok || last == nil {
			return nil, invalid("NextToken is not one that %s returned for this filter", searchOperation)
		}
	}
	active, err := s.options.Backend.ActiveGameSessions(ctx, messages.ActiveGameSessionQuery{FleetID: fleet, AliasID: alias, Location: aws.ToString(in.Location)})
	if err != nil {
		return nil, err
	}
	size := pageSearchMax
	if in.Limit != nil {
		size = min(size, int(*in.Limit))
	}
	found := order.First(size+1, active, filter, last.position(order, active))
	out := new(gameSessionsOutput)
	if len(found) > size {
		found = found[:size]
		token := s.searchToken(order, found[size-1], bound)
		out.NextToken = &token
	}
	out.GameSessions = make([]gameSession, len(found))
	for i, f := range found {
		shown := *f.GameSession
		shown.CurrentPlayers = f.Players
		out.GameSessions[i] = s.gameSession(&shown)
	}
	return out, nil
}

func searchExpressions(in *gamelift.SearchGameSessionsInput) (*search.Filter, *search.Sort, error) {
	var filter *search.Filter
	order := search.Oldest()
	var err error
	if in.FilterExpression != nil {
		if filter, err = search.ParseFilter(*in.FilterExpression); err != nil {
			return nil, nil, invalid("FilterExpression, %v", err)
		}
	}
	if in.SortExpression != nil {
		if order, err = search.ParseSort(*in.SortExpression); err != nil {
			return nil, nil, invalid("SortExpression, %v", err)
		}
	}
	return filter, order, nil
}

// searchToken names the last game session of a page by its place in the order.
//
//	1 absent, 2 shortened (1 byte) | number (8 bytes) | length of the id (2 bytes) | id | text
type searchToken struct {
	search.Position
	shortened bool
}

const searchTokenHead = 1 + 8 + 2

func (s *Server) searchToken(order *search.Sort, last search.Found, bound [sha256.Size]byte) string {
	at, shortened := order.Shorten(order.Position(last.GameSession, last.Players), searchTextMax)
	raw := make([]byte, 1, searchTokenHead+len(at.ID)+len(at.Text))
	if at.Absent {
		raw[0] |= 1
	}
	if shortened {
		raw[0] |= 2
	}
	raw = binary.BigEndian.AppendUint64(raw, uint64(at.Number))
	raw = binary.BigEndian.AppendUint16(raw, uint16(len(at.ID)))
	raw = append(append(raw, at.ID...), at.Text...)
	return s.pager.sealBytes(raw, searchOperation, bound)
}

// parseSearchToken returns nil if raw is not a valid token.
func parseSearchToken(raw []byte) *searchToken {
	if len(raw) < searchTokenHead {
		return nil
	}
	n := searchTokenHead + int(binary.BigEndian.Uint16(raw[9:]))
	if len(raw) < n {
		return nil
	}
	return &searchToken{shortened: raw[0]&2 != 0, Position: search.Position{
		Absent: raw[0]&1 != 0, Number: int64(binary.BigEndian.Uint64(raw[1:])),
		ID: messages.GameSessionID(raw[searchTokenHead:n]), Text: string(raw[n:]),
	}}
}

// position returns the position after which the next page begins, nil for the first page. If the
// text was too long for the token, it is read from the game session, if that is still active
// and at the same shortened position.
func (t *searchToken) position(order *search.Sort, active iter.Seq2[*messages.GameSession, int]) *search.Position {
	if t == nil {
		return nil
	}
	if t.shortened {
		for g, players := range active {
			if g.ID != t.ID {
				continue
			}
			now := order.Position(g, players)
			if short, _ := order.Shorten(now, searchTextMax); short == t.Position {
				return &now
			}
			break
		}
	}
	return &t.Position
}
