package serviceapi

import (
	"context"
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/messages"
	"troupe/messages/search"
)

// positionTextMax is the maximum length of a position's text in a token. A token may have 1,024 characters,
// and a game session's name may be longer.
const positionTextMax = 380

// searchGameSessions lists the ACTIVE game sessions of a fleet that match the filter (service-api.md 4). They
// are in the order of the sort expression, or oldest first without one.
func (s *Server) searchGameSessions(ctx context.Context, in *gamelift.SearchGameSessionsInput) (*gameSessionsOutput, error) {
	fleet, alias, err := s.fleetOrAlias(in.FleetId, in.AliasId)
	if err != nil {
		return nil, err
	}
	if in.FilterExpression != nil {
		if _, err := search.ParseFilter(*in.FilterExpression); err != nil {
			return nil, invalid("FilterExpression, %v", err)
		}
	}
	if in.SortExpression != nil {
		if _, err := search.ParseSort(*in.SortExpression); err != nil {
			return nil, invalid("SortExpression, %v", err)
		}
	}
	found, token, err := s.findGameSessions(ctx, messages.FindGameSessions{
		FleetID: fleet, AliasID: alias, Location: aws.ToString(in.Location), Status: messages.GameSessionActive,
		Filter: aws.ToString(in.FilterExpression), Sort: aws.ToString(in.SortExpression), Open: true,
	}, pagingOf(in, pageSearchMax))
	return &gameSessionsOutput{GameSessions: shownAll(found, s.gameSession), NextToken: token}, err
}

// findGameSessions returns a page of game sessions and the token of the next page, which is nil after the
// last page.
func (s *Server) findGameSessions(ctx context.Context, q messages.FindGameSessions, how paging) ([]*messages.GameSession, *string, error) {
	bound, err := filterHash(how.input)
	if err != nil {
		return nil, nil, err
	}
	if how.token != nil {
		raw, ok := s.pager.openBytes(*how.token, how.operation, bound)
		if q.After = parsePosition(raw); !ok || q.After == nil {
			return nil, nil, how.badToken()
		}
	}
	q.Limit, q.TextMax = how.size(), positionTextMax
	found, err := do(ctx, s, nil, q)
	if err != nil || found.Next == nil {
		return found.GameSessions, nil, err
	}
	token := s.pager.sealBytes(appendPosition(nil, found.Next), how.operation, bound)
	return found.GameSessions, &token, nil
}

// positionHead is the length of an encoded position without its id and text.
//
//	flags (1 byte: 1 absent, 2 cut) | number (8 bytes) | length of the id (2 bytes) | id | text
const positionHead = 1 + 8 + 2

func appendPosition(raw []byte, at *messages.GameSessionPosition) []byte {
	flags := byte(0)
	if at.Absent {
		flags |= 1
	}
	if at.Cut {
		flags |= 2
	}
	raw = binary.BigEndian.AppendUint64(append(raw, flags), uint64(at.Number))
	raw = binary.BigEndian.AppendUint16(raw, uint16(len(at.ID)))
	return append(append(raw, at.ID...), at.Text...)
}

// parsePosition returns nil if raw is not a valid position.
func parsePosition(raw []byte) *messages.GameSessionPosition {
	if len(raw) < positionHead {
		return nil
	}
	n := positionHead + int(binary.BigEndian.Uint16(raw[9:]))
	if len(raw) < n {
		return nil
	}
	return &messages.GameSessionPosition{
		Cut: raw[0]&2 != 0, Absent: raw[0]&1 != 0, Number: int64(binary.BigEndian.Uint64(raw[1:])),
		ID: messages.GameSessionID(raw[positionHead:n]), Text: string(raw[n:]),
	}
}
