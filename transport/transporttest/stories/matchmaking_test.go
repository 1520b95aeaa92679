package stories

import (
	"context"
	"fmt"
	"testing"

	"troupe/transport/client"
)

// TestAMatchmakingStory: the story of TestAWholeStory for matchmaking, by each of the stock callers.
func TestAMatchmakingStory(t *testing.T) {
	for name, make := range map[string]func(*testing.T, string) driver{"GoSDK": newGoSDK, "JavaScriptSDK": newJSSDK, "CommandLine": newCommandLine} {
		t.Run(name, func(t *testing.T) {
			h := startHost(t)
			tellMatchmaking(teller{t, make(t, "http://"+h.Addrs().API)})
		})
	}
}

const storyRules = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
	"teams":[{"name":"red","minPlayers":4,"maxPlayers":4},{"name":"blue","minPlayers":4,"maxPlayers":4}],
	"rules":[{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],
		"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":20}]}`

// tellMatchmaking is the story: a rule set, a configuration, eight players, their match, which they accept, and their game: one
// leaves, the others play, and TerminateGameSession ends it.
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
	s.refused("InvalidRequestException", "DeleteMatchmakingRuleSet", object{"Name": "fours"}) // in use

	tickets := map[string]string{} // the player of each
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
	teams := map[string]int{}
	// All are COMPLETED at once. One call reads them, because a seat is held for a minute, and a call of the command line takes long.
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
		teams[text(done, ticket+"Players.0.Team")]++
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
		s.ok("TerminateGameSession", object{"GameSessionId": game, "TerminationMode": "FORCE_TERMINATE"})
	})
	s.refused("InvalidRequestException", "StopMatchmaking", object{"TicketId": "ticket-0"}) // it has ended
	s.ok("DeleteMatchmakingConfiguration", object{"Name": "ranked"})
	s.ok("DeleteMatchmakingRuleSet", object{"Name": "fours"})
}

// leave connects a player, who leaves at once.
func (s teller) leave(address, player string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{Addr: address, PlayerSessionID: player})
	if err != nil {
		s.Fatalf("player %s: %v", player, err)
	}
	c.Close()
}
