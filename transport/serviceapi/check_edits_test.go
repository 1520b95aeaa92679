package serviceapi

import (
	"fmt"
	"strings"
	"testing"

	"troupe/messages"
)

// API-30.
func TestUpdateGameSessionChangesTheGivenMembers(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 4)
	inBoth(t, func(t *testing.T, protocol string) {
		call := func(in members) reply { t.Helper(); return a.call(t, protocol, "UpdateGameSession", in) }
		call(members{"Name": "n"}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id, "GameProperties": []any{}}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id, "MaximumPlayerSessionCount": 201}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id, "MaximumPlayerSessionCount": -1}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id, "PlayerSessionCreationPolicy": "SOME"}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id, "ProtectionPolicy": "SOME"}).Want(t, 400, invalidRequest)
		same := []any{members{"Key": "k", "Value": "1"}, members{"Key": "k", "Value": "2"}}
		call(members{"GameSessionId": id, "GameProperties": same}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id + "x", "Name": "n"}).Want(t, 400, "NotFoundException")
		call(members{"GameSessionId": strings.Replace(id, "us-east-1", "eu-west-1", 1), "Name": "n"}).Want(t, 400, "NotFoundException")

		got, _ := call(members{
			"GameSessionId": id, "Name": "n", "MaximumPlayerSessionCount": 0, "PlayerSessionCreationPolicy": "DENY_ALL", "ProtectionPolicy": "FullProtection",
			"GameProperties": []any{members{"Key": protocol, "Value": "1"}},
		}).OK(t)["GameSession"].(members)
		if got["Name"] != "n" || got["PlayerSessionCreationPolicy"] != "DENY_ALL" || fmt.Sprint(got["MaximumPlayerSessionCount"]) != "0" {
			t.Errorf("%v", got)
		}
	})
}

// API-31.
func TestAnUpdateOfATerminatedGameSessionIsRefused(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 4)
	a.fake.fail = messages.Errorf(messages.InvalidGameSessionStatus, "it is TERMINATED")
	inBoth(t, func(t *testing.T, protocol string) {
		a.call(t, protocol, "UpdateGameSession", members{"GameSessionId": id, "Name": "n"}).Want(t, 400, "InvalidGameSessionStatusException")
	})
}

// API-30.
func TestDetailsShowTheProtection(t *testing.T) {
	a := newAPI(t)
	first, second := a.newGameSession(t, 1), a.newGameSession(t, 1)
	inBoth(t, func(t *testing.T, protocol string) {
		a.call(t, protocol, "UpdateGameSession", members{"GameSessionId": second, "ProtectionPolicy": "FullProtection"}).OK(t)
		call := func(in members) reply { t.Helper(); return a.call(t, protocol, "DescribeGameSessionDetails", in) }
		call(members{}).Want(t, 400, invalidRequest)
		call(members{"FleetId": fleetOne, "StatusFilter": "SLEEPING"}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": first + "x"}).Want(t, 400, "NotFoundException")
		all := items(t, call(members{"FleetId": fleetOne}).OK(t), "GameSessionDetails")
		if len(all) != 2 {
			t.Fatalf("%d are listed", len(all))
		}
		for i, want := range []struct{ id, policy string }{{second, "FullProtection"}, {first, "NoProtection"}} { // newest first
			detail := all[i]
			game, _ := detail["GameSession"].(members)
			if detail["ProtectionPolicy"] != want.policy || game["GameSessionId"] != want.id {
				t.Errorf("%v, want %v", detail, want)
			}
		}
		page := call(members{"FleetId": fleetOne, "Limit": 1}).OK(t)
		rest := call(members{"FleetId": fleetOne, "Limit": 1, "NextToken": page["NextToken"]}).OK(t)
		if n := len(items(t, rest, "GameSessionDetails")); n != 1 || rest["NextToken"] != nil {
			t.Errorf("the last page has %d and %v", n, rest["NextToken"])
		}
	})
}
