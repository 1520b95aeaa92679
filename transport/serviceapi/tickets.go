package serviceapi

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// Limits of the service model, except where noted.
const (
	ticketPlayersMax = 10
	backfillMax      = 199
	ticketIDsMax     = 10
	attributesMax    = 10
	listItemsMax     = 100
	mapPairsMax      = 10
	latencyPairsMax  = 100 // the model sets no limit
)

// startMatchmaking starts a ticket (flexmatch.md 13.2).
func (s *Server) startMatchmaking(ctx context.Context, in *gamelift.StartMatchmakingInput) (*gamelift.StartMatchmakingOutput, error) {
	req := messages.StartMatchmaking{TicketID: messages.TicketID(aws.ToString(in.TicketId))}
	var err error
	if req.Players, err = playersOf(in.Players, ticketPlayersMax); err != nil {
		return nil, err
	}
	req.Matchmaker, err = s.arns.matcher(in.ConfigurationName)
	shown, err := ask(ctx, s, err, req, s.ticketFor(ctx))
	return &gamelift.StartMatchmakingOutput{MatchmakingTicket: shown}, throttled(err)
}

// ticketFor returns a function that converts tickets for the caller of ctx.
func (s *Server) ticketFor(ctx context.Context) func(*messages.Ticket) *types.MatchmakingTicket {
	return func(r *messages.Ticket) *types.MatchmakingTicket { return s.ticket(ctx, r) }
}

// startMatchBackfill starts a backfill ticket (flexmatch.md 16.1).
func (s *Server) startMatchBackfill(ctx context.Context, in *gamelift.StartMatchBackfillInput) (*gamelift.StartMatchBackfillOutput, error) {
	req := messages.StartMatchBackfill{TicketID: messages.TicketID(aws.ToString(in.TicketId))}
	var err error
	if in.GameSessionArn != nil {
		if req.Session, err = s.arns.gameSession(*in.GameSessionArn); err != nil {
			return nil, err
		}
	}
	if req.Players, err = playersOf(in.Players, backfillMax); err != nil {
		return nil, err
	}
	for i := range in.Players {
		if req.Players[i].Team = aws.ToString(in.Players[i].Team); req.Players[i].Team == "" {
			return nil, invalid("Players[%d].Team is required: the team that the player is in", i)
		}
	}
	req.Matchmaker, err = s.arns.matcher(in.ConfigurationName)
	shown, err := ask(ctx, s, err, req, s.ticketFor(ctx))
	return &gamelift.StartMatchBackfillOutput{MatchmakingTicket: shown}, throttled(err)
}

// playersOf converts the players of a ticket, without their teams.
func playersOf(in []types.Player, most int) ([]messages.TicketPlayer, error) {
	if len(in) < 1 || len(in) > most {
		return nil, invalid("Players must have 1 to %d players, it has %d", most, len(in))
	}
	all := make([]messages.TicketPlayer, len(in))
	ids := make([]messages.PlayerID, len(in))
	for i := range in {
		p, where := &in[i], fmt.Sprintf("Players[%d]", i)
		switch {
		case p.PlayerId == nil:
			return nil, invalid("%s.PlayerId is required", where)
		case len(p.PlayerAttributes) > attributesMax:
			return nil, invalid("%s.PlayerAttributes may have at most %d attributes, it has %d", where, attributesMax, len(p.PlayerAttributes))
		case len(p.LatencyInMs) > latencyPairsMax:
			return nil, invalid("%s.LatencyInMs may have at most %d locations, it has %d", where, latencyPairsMax, len(p.LatencyInMs))
		}
		ids[i] = messages.PlayerID(*p.PlayerId)
		all[i] = messages.TicketPlayer{ID: ids[i], Attributes: make(map[string]messages.Attribute, len(p.PlayerAttributes)), Latencies: make(map[string]int, len(p.LatencyInMs))}
		for _, name := range slices.Sorted(maps.Keys(p.PlayerAttributes)) {
			value := p.PlayerAttributes[name]
			a, err := attributeOf(fmt.Sprintf("%s.PlayerAttributes[%s]", where, awswire.Clip(name)), &value)
			if err != nil {
				return nil, err
			}
			all[i].Attributes[name] = a
		}
		for location, ms := range p.LatencyInMs {
			all[i].Latencies[location] = int(ms)
		}
	}
	if repeats(ids) {
		return nil, invalid("Players has a player twice")
	}
	return all, nil
}

// attributeOf converts an attribute. Exactly one of its value members must be set.
func attributeOf(where string, v *types.AttributeValue) (a messages.Attribute, err error) {
	given := 0
	if v.S != nil {
		given++
		a = messages.Attribute{Kind: messages.AttributeText, S: *v.S}
	}
	if v.N != nil {
		given++
		a = messages.Attribute{Kind: messages.AttributeNumber, N: *v.N}
		if !finite(*v.N) {
			return a, invalid("%s.N must be a finite number", where)
		}
	}
	if v.SL != nil {
		given++
		a = messages.Attribute{Kind: messages.AttributeTexts}
		if len(v.SL) > listItemsMax {
			return a, invalid("%s.SL may have at most %d items, it has %d", where, listItemsMax, len(v.SL))
		}
		for _, item := range v.SL {
			if !slices.Contains(a.SL, item) {
				a.SL = append(a.SL, item)
			}
		}
	}
	if v.SDM != nil {
		given++
		a = messages.Attribute{Kind: messages.AttributeMap, SDM: v.SDM}
		if len(v.SDM) > mapPairsMax {
			return a, invalid("%s.SDM may have at most %d pairs, it has %d", where, mapPairsMax, len(v.SDM))
		}
		for key, n := range v.SDM {
			if !finite(n) {
				return a, invalid("%s.SDM[%s] must be a finite number", where, awswire.Clip(key))
			}
		}
	}
	if given != 1 {
		return a, invalid("%s must have exactly one of S, N, SL and SDM, it has %d", where, given)
	}
	return a, nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func (s *Server) describeMatchmaking(ctx context.Context, in *gamelift.DescribeMatchmakingInput) (*gamelift.DescribeMatchmakingOutput, error) {
	if n := len(in.TicketIds); n < 1 || n > ticketIDsMax {
		return nil, invalid("TicketIds must have 1 to %d ids, it has %d", ticketIDsMax, n)
	}
	ids := make([]messages.TicketID, len(in.TicketIds))
	for i, id := range in.TicketIds {
		ids[i] = messages.TicketID(id)
	}
	found, err := do(ctx, s, nil, messages.TicketQuery{IDs: ids})
	shown := shownAll(found, s.ticketFor(ctx))
	return &gamelift.DescribeMatchmakingOutput{TicketList: shown}, err
}

func (s *Server) stopMatchmaking(ctx context.Context, in *gamelift.StopMatchmakingInput) (*gamelift.StopMatchmakingOutput, error) {
	return &gamelift.StopMatchmakingOutput{}, s.run(ctx, nil, messages.StopMatchmaking{ID: messages.TicketID(*in.TicketId)})
}

func (s *Server) acceptMatch(ctx context.Context, in *gamelift.AcceptMatchInput) (*gamelift.AcceptMatchOutput, error) {
	if n := len(in.PlayerIds); n < 1 || n > ticketPlayersMax {
		return nil, invalid("PlayerIds must have 1 to %d players, it has %d", ticketPlayersMax, n)
	}
	req := messages.AcceptMatch{TicketID: messages.TicketID(*in.TicketId), Accept: in.AcceptanceType == types.AcceptanceTypeAccept}
	for _, id := range in.PlayerIds {
		req.Players = append(req.Players, messages.PlayerID(id))
	}
	return &gamelift.AcceptMatchOutput{}, s.run(ctx, nil, req)
}

// ticket converts a ticket for the caller of ctx. It includes the teams if the ticket is COMPLETED or a
// backfill ticket.
func (s *Server) ticket(ctx context.Context, r *messages.Ticket) *types.MatchmakingTicket {
	t := &types.MatchmakingTicket{
		TicketId: aws.String(string(r.ID)), ConfigurationName: aws.String(string(r.Matchmaker)),
		ConfigurationArn: aws.String(s.arns.mint(kindMatcher, string(r.Matchmaker))), Status: types.MatchmakingConfigurationStatus(r.Status.String()),
		StatusReason: filled(r.Reason), StatusMessage: filled(r.Text), StartTime: moment(r.Started), EndTime: moment(r.Ended),
		Players: make([]types.Player, len(r.Players)),
	}
	if r.EstimatedWait > 0 {
		t.EstimatedWaitTime = count(int((r.EstimatedWait + time.Second - 1) / time.Second))
	}
	for i := range r.Players {
		t.Players[i] = shownPlayer(&r.Players[i], r.Status == messages.TicketCompleted || r.Backfill != nil)
	}
	if g := r.Game; g != nil {
		t.GameSessionConnectionInfo = &types.GameSessionConnectionInfo{
			GameSessionArn: filled(string(g.ID)), IpAddress: filled(g.IPAddress), DnsName: filled(g.DNSName), Port: port(g.Port),
			PlayerGatewayStatus: types.PlayerGatewayStatusDisabled,
		}
		for _, p := range g.Placed {
			t.GameSessionConnectionInfo.MatchedPlayerSessions = append(t.GameSessionConnectionInfo.MatchedPlayerSessions, types.MatchedPlayerSession{
				PlayerId: aws.String(string(p.PlayerID)), PlayerSessionId: aws.String(shownID(ctx, p.PlayerSessionID)),
			})
		}
	}
	return t
}

func shownPlayer(r *messages.TicketPlayer, team bool) types.Player {
	p := types.Player{PlayerId: aws.String(string(r.ID))}
	if team {
		p.Team = filled(r.Team)
	}
	for location, ms := range r.Latencies {
		if p.LatencyInMs == nil {
			p.LatencyInMs = make(map[string]int32, len(r.Latencies))
		}
		p.LatencyInMs[location] = int32(ms)
	}
	for name, a := range r.Attributes {
		if p.PlayerAttributes == nil {
			p.PlayerAttributes = make(map[string]types.AttributeValue, len(r.Attributes))
		}
		var v types.AttributeValue
		switch a.Kind {
		case messages.AttributeText:
			v.S = aws.String(a.S)
		case messages.AttributeNumber:
			v.N = aws.Float64(a.N)
		case messages.AttributeTexts:
			v.SL = append([]string{}, a.SL...)
		case messages.AttributeMap:
			v.SDM = a.SDM
		}
		p.PlayerAttributes[name] = v
	}
	return p
}
