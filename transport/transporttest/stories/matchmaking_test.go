package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestAMatchmakingStory runs a story of matchmaking with each driver, like TestAWholeStory.
func TestAMatchmakingStory(t *testing.T) { everyDriver(t, tellMatchmaking) }

const storyRules = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
	"teams":[{"name":"red","minPlayers":4,"maxPlayers":4},{"name":"blue","minPlayers":4,"maxPlayers":4}],
	"rules":[{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],
		"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":20}]}`

// tellMatchmaking runs the story. It creates a rule set, a configuration, and tickets for eight players, who
// accept their match and play. One player leaves and the others continue. Backfill fills the free slot with a
// new player, and TerminateGameSession ends the game session.
func tellMatchmaking(s teller) {
	script := text(s.ok("CreateScript", object{"Name": "echo", "ZipFile": archive(s.T)}), "Script.ScriptId")
	fleet := text(s.ok("CreateFleet", object{
		"Name": "story", "ScriptId": script, "EC2InstanceType": "c5.large", "FleetType": "ON_DEMAND",
		"RuntimeConfiguration": object{"ServerProcesses": []object{{"LaunchPath": "/local/game/main.js", "ConcurrentExecutions": 1}}},
	}), "FleetAttributes.FleetId")
	arn := text(s.until("DescribeFleetAttributes", object{"FleetIds": []string{fleet}}, "FleetAttributes.0.Status", "ACTIVE"), "FleetAttributes.0.FleetArn")
	queue := text(s.ok("CreateGameSessionQueue", object{"Name": "story-queue", "TimeoutInSeconds": 120, "Destinations": []object{{"DestinationArn": arn}}}), "GameSessionQueue.GameSessionQueueArn")

	s.refused("InvalidRequestException", "CreateMatchmakingRuleSet", object{"Name": "bad", "RuleSetBody": `{"ruleLanguageVersion":"1.0"}`})
	s.ok("CreateMatchmakingRuleSet", object{"Name": "fours", "RuleSetBody": storyRules})
	configuration := object{
		"Name": "ranked", "RuleSetName": "fours", "RequestTimeoutSeconds": 3600, "AcceptanceRequired": true, "AcceptanceTimeoutSeconds": 600,
		"GameSessionQueueArns": []string{queue}, "GameProperties": []object{{"Key": "mode", "Value": "ranked"}},
	}
	s.ok("CreateMatchmakingConfiguration", configuration)
	s.refused("InvalidRequestException", "CreateMatchmakingConfiguration", configuration)
	s.refused("InvalidRequestException", "DeleteMatchmakingRuleSet", object{"Name": "fours"}) // a configuration uses it

	tickets := map[string]string{} // ticket -> player
	for i := range 8 {
		id, player := fmt.Sprintf("ticket-%d", i), fmt.Sprintf("player-%d", i)
		started := s.ok("StartMatchmaking", object{
			"ConfigurationName": "ranked", "TicketId": id,
			"Players": []object{{"PlayerId": player, "PlayerAttributes": object{"skill": object{"N": 100 + i}}, "LatencyInMs": object{"us-east-1": 20 + i}}},
		})
		if got := text(started, "MatchmakingTicket.Status"); got != "QUEUED" {
			s.Errorf("%s is %s at first", id, got)
		}
		tickets[id] = player
	}
	s.refused("NotFoundException", "StartMatchmaking", object{"ConfigurationName": "none", "Players": []object{{"PlayerId": "x"}}})
	described := func(id string) object { return object{"TicketIds": []string{id}} }
	for id, player := range tickets {
		s.until("DescribeMatchmaking", described(id), "TicketList.0.Status", "REQUIRES_ACCEPTANCE")
		s.ok("AcceptMatch", object{"TicketId": id, "PlayerIds": []string{player}, "AcceptanceType": "ACCEPT"})
	}
	var address, game string
	var seats []string
	teams, sides := map[string]int{}, make([]string, len(tickets)) // sides has the team of each of seats
	stay := []object{}                                             // players who do not leave
	// All tickets are COMPLETED at once. One call reads all of them: a player session is reserved for a
	// minute only, and a call of the command line is slow.
	s.until("DescribeMatchmaking", described("ticket-0"), "TicketList.0.Status", "COMPLETED")
	var ids []string
	for id := range tickets {
		ids = append(ids, id)
	}
	done := s.ok("DescribeMatchmaking", object{"TicketIds": ids})
	for i := range ids {
		ticket := fmt.Sprintf("TicketList.%d.", i)
		id := text(done, ticket+"TicketId")
		player, info := tickets[id], ticket+"GameSessionConnectionInfo."
		address = fmt.Sprintf("%s:%v", text(done, info+"IpAddress"), at(done, info+"Port"))
		if one := text(done, info+"GameSessionArn"); game != "" && one != game {
			s.Errorf("%s is in %s, others in %s", id, one, game)
		} else {
			game = one
		}
		if got := text(done, info+"MatchedPlayerSessions.0.PlayerId"); got != player {
			s.Errorf("%s has the seat of %s", id, got)
		}
		seats = append(seats, text(done, info+"MatchedPlayerSessions.0.PlayerSessionId"))
		sides[i] = text(done, ticket+"Players.0.Team")
		teams[sides[i]]++
		if i > 0 {
			stay = append(stay, object{"PlayerId": player, "Team": sides[i], "PlayerAttributes": object{"skill": object{"N": at(done, ticket+"Players.0.PlayerAttributes.skill.N")}}})
		}
	}
	if teams["red"] != 4 || teams["blue"] != 4 {
		s.Errorf("teams %v", teams)
	}
	s.leave(address, seats[0])
	s.play(address, seats[1:], func() {
		s.until("DescribePlayerSessions", object{"PlayerSessionId": seats[0]}, "PlayerSessions.0.Status", "COMPLETED")
		found := s.ok("DescribeGameSessions", object{"GameSessionId": game})
		if text(found, "GameSessions.0.GameProperties.0.Value") != "ranked" || text(found, "GameSessions.0.MatchmakerData") == "" || at(found, "GameSessions.0.CurrentPlayerSessionCount") != 7.0 {
			s.Errorf("the game session: %v", found)
		}
		s.fill(address, game, sides[0], stay)
		s.ok("TerminateGameSession", object{"GameSessionId": game, "TerminationMode": "FORCE_TERMINATE"})
	})
	s.refused("InvalidRequestException", "StopMatchmaking", object{"TicketId": "ticket-0"}) // the ticket has ended
	s.ok("DeleteMatchmakingConfiguration", object{"Name": "ranked"})
	s.ok("DeleteMatchmakingRuleSet", object{"Name": "fours"})
}

// fill finds a player for the free slot in a team of the others' game session, and lets the player play.
func (s teller) fill(address, game, team string, others []object) {
	s.Helper()
	request := object{"TicketId": "backfill", "ConfigurationName": "ranked", "GameSessionArn": game, "Players": others}
	started := s.ok("StartMatchBackfill", request)
	if text(started, "MatchmakingTicket.Status") != "QUEUED" || text(started, "MatchmakingTicket.GameSessionConnectionInfo.GameSessionArn") != game || at(started, "MatchmakingTicket.Players.6") == nil {
		s.Errorf("the backfill ticket: %v", started)
	}
	s.refused("InvalidRequestException", "StartMatchBackfill", request) // the ticket id is already used
	s.ok("StartMatchmaking", object{"ConfigurationName": "ranked", "TicketId": "late", "Players": []object{{"PlayerId": "player-late", "PlayerAttributes": object{"skill": object{"N": 104}}}}})
	both := object{"TicketIds": []string{"late", "backfill"}}
	s.until("DescribeMatchmaking", both, "TicketList.0.Status", "REQUIRES_ACCEPTANCE")
	s.refused("InvalidRequestException", "AcceptMatch", object{"TicketId": "backfill", "PlayerIds": []any{others[0]["PlayerId"]}, "AcceptanceType": "ACCEPT"})
	s.ok("AcceptMatch", object{"TicketId": "late", "PlayerIds": []string{"player-late"}, "AcceptanceType": "ACCEPT"})
	done := s.until("DescribeMatchmaking", both, "TicketList.0.Status", "COMPLETED")
	const info = "TicketList.0.GameSessionConnectionInfo."
	if got := fmt.Sprintf("%s:%v", text(done, info+"IpAddress"), at(done, info+"Port")); got != address || text(done, info+"GameSessionArn") != game || text(done, "TicketList.0.Players.0.Team") != team || text(done, "TicketList.1.Status") != "COMPLETED" {
		s.Errorf("the new player is at %s, want %s in team %s: %v", got, address, team, done)
	}
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	late := s.dial(ctx, address, text(done, info+"MatchedPlayerSessions.0.PlayerSessionId"))
	defer late.Close()
	s.greet(ctx, late)
	if found := s.ok("DescribeGameSessions", object{"GameSessionId": game}); at(found, "GameSessions.0.CurrentPlayerSessionCount") != 8.0 || !strings.Contains(text(found, "GameSessions.0.MatchmakerData"), `"player-late"`) {
		s.Errorf("the game session: %v", found)
	}
}

// leave connects a player, who leaves immediately.
func (s teller) leave(address, player string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	s.dial(ctx, address, player).Close()
}
