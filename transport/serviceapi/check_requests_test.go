package serviceapi

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"

	"troupe/messages"
)

// Tests the texts of errors, their order, and values exactly at the limits. TestEveryLimitOfTheModel tries
// every limit. API-20.
func TestLimitsPatternsAndEnumsAreEnforced(t *testing.T) {
	a := newAPI(t)
	game := a.newGameSession(t, 9)
	create := func(extra members) members {
		in := members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1}
		for k, v := range extra {
			in[k] = v
		}
		return in
	}
	property := func(key, value any) members {
		return members{"GameProperties": []members{{"Key": key, "Value": value}}}
	}
	snow := func(n int) string { return strings.Repeat("\u2603", n) }
	many := func(n int) (l []members) {
		for i := range n {
			l = append(l, members{"Key": fmt.Sprint(i), "Value": ""})
		}
		return l
	}
	cases := []struct {
		name, operation string
		in              members
		text            string // part of the error's text; empty: accepted
	}{
		{"required member", "CreateGameSession", members{"FleetId": fleetOne}, "MaximumPlayerSessionCount is required"},
		{"required comes before limits", "CreateGameSession", members{"FleetId": "?"}, "MaximumPlayerSessionCount is required"},
		{"model order", "CreateGameSession", members{"FleetId": "?", "MaximumPlayerSessionCount": -1}, "FleetId must match"},
		{"count over the cap", "CreateGameSession", create(members{"MaximumPlayerSessionCount": 201}), "0 to 200"},
		{"count at the cap", "CreateGameSession", create(members{"MaximumPlayerSessionCount": 200}), ""},
		{"name in characters, not bytes", "CreateGameSession", create(members{"Name": snow(1024)}), ""},
		{"name too long", "CreateGameSession", create(members{"Name": snow(1025)}), "Name must have 1 to 1024 characters, it has 1025"},
		{"data at the limit", "CreateGameSession", create(members{"GameSessionData": snow(262144)}), ""},
		{"16 properties", "CreateGameSession", create(members{"GameProperties": many(16)}), ""},
		{"17 properties", "CreateGameSession", create(members{"GameProperties": many(17)}), "GameProperties must have 0 to 16 items, it has 17"},
		{"value too long", "CreateGameSession", create(property("k", snow(97))), "GameProperties[0].Value must have 0 to 96"},
		{"longest property", "CreateGameSession", create(property(snow(32), snow(96))), ""},
		{"null property", "CreateGameSession", create(members{"GameProperties": []any{nil}}), "GameProperties[0].Key is required"},
		{"key twice", "CreateGameSession", create(members{"GameProperties": append(many(2), many(1)...)}), "twice"},
		{"two tokens", "CreateGameSession", create(members{"GameSessionId": "a", "IdempotencyToken": "b"}), "differ"},
		{"two equal tokens", "CreateGameSession", create(members{"GameSessionId": "a", "IdempotencyToken": "a"}), ""},
		{"player data at the limit", "CreatePlayerSession", members{"GameSessionId": game, "PlayerId": "p", "PlayerData": snow(2048)}, ""},
		{"map value too long", "CreatePlayerSessions",
			members{"GameSessionId": game, "PlayerIds": []string{"p"}, "PlayerDataMap": members{"x": snow(2049)}}, "PlayerDataMap[x]"},
		{"map key empty", "CreatePlayerSessions",
			members{"GameSessionId": game, "PlayerIds": []string{"p"}, "PlayerDataMap": members{"": "x"}}, "PlayerDataMap key"},
		{"empty fleet list", "DescribeFleetAttributes", members{"FleetIds": []string{}}, "FleetIds must have at least 1"},
	}
	inBoth(t, func(t *testing.T, protocol string) {
		for _, c := range cases {
			r := a.call(t, protocol, c.operation, c.in)
			text, _ := r.Body["message"].(string)
			switch {
			case c.text == "" && r.Status != 200:
				t.Errorf("%s: got %d %v, want success", c.name, r.Status, r.Body)
			case c.text != "" && (r.Code() != invalidRequest || !strings.Contains(text, c.text)):
				t.Errorf("%s: got %d %s %q, want a text with %q", c.name, r.Status, r.Code(), text, c.text)
			}
		}
	})
}

// API-22.
func TestBadLimitsAndTokensAreRefused(t *testing.T) {
	a := newAPI(t)
	for range 7 {
		a.newGameSession(t, 1)
	}
	inBoth(t, func(t *testing.T, protocol string) {
		in := members{"FleetId": fleetOne, "Limit": 3}
		var seen []string
		var token string
		for page := range 3 {
			if token != "" {
				in["NextToken"] = token
			}
			out := a.call(t, protocol, "DescribeGameSessions", in).OK(t)
			for _, g := range items(t, out, "GameSessions") {
				seen = append(seen, g["GameSessionId"].(string))
			}
			next, more := out["NextToken"].(string)
			if more != (page < 2) || (more && (next == "" || len(next) > 1024)) {
				t.Fatalf("page %d: token %q, present %v", page, next, more)
			}
			if more {
				token = next
			}
		}
		if len(seen) != 7 || !strings.HasSuffix(seen[0], "gsess-0006") || !strings.HasSuffix(seen[6], "gsess-0000") {
			t.Errorf("not all, newest first: %v", seen)
		}
		bad := func(name, operation string, in members) {
			t.Helper()
			if r := a.call(t, protocol, operation, in); r.Status != 400 || r.Code() != invalidRequest {
				t.Errorf("%s: got %d %v", name, r.Status, r.Body)
			}
		}
		bad("limit 0", "DescribeGameSessions", members{"FleetId": fleetOne, "Limit": 0})
		bad("limit -1", "DescribeGameSessions", members{"FleetId": fleetOne, "Limit": -1})
		bad("unknown token", "DescribeGameSessions", members{"FleetId": fleetOne, "NextToken": "abc"})
		bad("empty token", "DescribeGameSessions", members{"FleetId": fleetOne, "NextToken": ""})
		bad("other filter", "DescribeGameSessions", members{"FleetId": fleetTwo, "NextToken": token})
		bad("more filter", "DescribeGameSessions", members{"FleetId": fleetOne, "StatusFilter": "ACTIVE", "NextToken": token})
		bad("other operation", "SearchGameSessions", members{"FleetId": fleetOne, "NextToken": token})
		bad("tampered", "DescribeGameSessions", members{"FleetId": fleetOne, "NextToken": token[:len(token)-2] + "AA"})
		a.call(t, protocol, "DescribeGameSessions", members{"FleetId": fleetOne, "Limit": 1, "NextToken": token}).OK(t)
		a.call(t, protocol, "DescribeGameSessions", members{"FleetId": fleetOne, "Limit": 1 << 30}).OK(t) // clamped
	})
	other := newAPI(t) // a server with another key for page tokens
	token := a.call(t, "json", "ListFleets", members{"Limit": 1}).OK(t)["NextToken"]
	other.call(t, "json", "ListFleets", members{"NextToken": token}).Want(t, 400, invalidRequest)
}

// API-23.
func TestExactlyOneOfFleetAndAliasIsNeeded(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		for _, operation := range []string{"CreateGameSession", "SearchGameSessions"} {
			in := members{"MaximumPlayerSessionCount": 1}
			a.call(t, protocol, operation, in).Want(t, 400, invalidRequest)
			in["FleetId"], in["AliasId"] = fleetOne, aliasOne
			a.call(t, protocol, operation, in).Want(t, 400, invalidRequest)
		}
		a.call(t, protocol, "CreateGameSession", members{"AliasId": aliasOne, "MaximumPlayerSessionCount": 1}).OK(t)
	})
}

// API-24.
func TestATerminalAliasRefusesWithItsMessage(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		r := a.call(t, protocol, "CreateGameSession", members{"AliasId": aliasEnd, "MaximumPlayerSessionCount": 1})
		r.Want(t, 400, "TerminalRoutingStrategyException")
		if r.Body["message"] != endText {
			t.Errorf("got text %q", r.Body["message"])
		}
	})
}

// API-35.
func TestDescribeGameSessionsRefusesBadFiltersAndUnknownIDs(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 1)
	arn := "arn:aws:gamelift:us-east-1:123456789012:fleet/" + fleetOne
	inBoth(t, func(t *testing.T, protocol string) {
		call := func(in members) reply { t.Helper(); return a.call(t, protocol, "DescribeGameSessions", in) }
		found := func(in members, n int) {
			t.Helper()
			if got := items(t, call(in).OK(t), "GameSessions"); len(got) != n {
				t.Errorf("%v: got %d game sessions, want %d", in, len(got), n)
			}
		}
		call(members{"FleetId": fleetOne, "StatusFilter": "SLEEPING"}).Want(t, 400, invalidRequest)
		call(members{"FleetId": fleetOne, "StatusFilter": "active"}).Want(t, 400, invalidRequest)
		call(members{}).Want(t, 400, invalidRequest)
		call(members{"FleetId": fleetOne, "AliasId": aliasOne}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id, "Location": "us-east-1"}).Want(t, 400, invalidRequest)
		call(members{"GameSessionId": id + "x"}).Want(t, 400, "NotFoundException")
		call(members{"GameSessionId": "gsess-1"}).Want(t, 400, "NotFoundException")
		call(members{"GameSessionId": "arn:x"}).Want(t, 400, "NotFoundException")
		call(members{"GameSessionId": strings.Replace(id, "us-east-1", "eu-west-1", 1)}).Want(t, 400, "NotFoundException")
		call(members{"FleetId": "fleet-unknown"}).Want(t, 400, "NotFoundException")
		call(members{"FleetId": strings.Replace(arn, "us-east-1", "eu-west-1", 1)}).Want(t, 400, "NotFoundException")
		found(members{"GameSessionId": id}, 1)
		found(members{"GameSessionId": strings.Replace(id, "us-east-1::", "us-east-1:123456789012:", 1)}, 1)
		found(members{"GameSessionId": id, "FleetId": fleetOne, "Location": "nowhere"}, 1)
		found(members{"GameSessionId": id, "FleetId": fleetTwo}, 0)
		found(members{"GameSessionId": id, "StatusFilter": "TERMINATED"}, 0)
		found(members{"FleetId": fleetOne, "StatusFilter": "TERMINATED"}, 0)
		found(members{"FleetId": fleetOne, "StatusFilter": "ACTIVE", "Location": "us-east-1"}, 1)
		found(members{"FleetId": arn}, 1)
		found(members{"AliasId": "arn:aws:gamelift:us-east-1::alias/" + aliasOne}, 1)
	})
}

// API-37.
func TestABatchOfPlayerSessionsIsAllOrNothing(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 100)
	ids := make([]string, 26)
	for i := range ids {
		ids[i] = fmt.Sprint("p", i)
	}
	inBoth(t, func(t *testing.T, protocol string) {
		call := func(in members) reply {
			t.Helper()
			in["GameSessionId"] = id
			return a.call(t, protocol, "CreatePlayerSessions", in)
		}
		call(members{"PlayerIds": ids}).Want(t, 400, invalidRequest)
		call(members{"PlayerIds": []string{}}).Want(t, 400, invalidRequest)
		call(members{}).Want(t, 400, invalidRequest)
		call(members{"PlayerIds": []string{"a", "b", "a"}}).Want(t, 400, invalidRequest)
		call(members{"PlayerIds": []any{"a", nil}}).Want(t, 400, invalidRequest)
		out := call(members{"PlayerIds": ids[:25], "PlayerDataMap": members{"p1": "one", "stranger": "x"}}).OK(t)
		made := items(t, out, "PlayerSessions")
		if len(made) != 25 || made[1]["PlayerData"] != "one" || made[0]["PlayerData"] != nil || made[24]["PlayerId"] != "p24" {
			t.Errorf("got %v", made)
		}
		if made[0]["Status"] != "RESERVED" || made[0]["FleetArn"] != "arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-one" ||
			made[0]["IpAddress"] != "127.0.0.1" || made[0]["DnsName"] != "localhost" || made[0]["Port"] != 7000.0 || made[0]["GameSessionId"] != id {
			t.Errorf("got %v", made[0])
		}
	})
	full := a.newGameSession(t, 1)
	a.call(t, "json", "CreatePlayerSessions", members{"GameSessionId": full, "PlayerIds": []string{"a", "b"}}).Want(t, 400, "GameSessionFullException")
}

// API-40.
func TestTheStatusFilterIsForGameSessionsOnly(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 9)
	out := a.call(t, "json", "CreatePlayerSession", members{"GameSessionId": id, "PlayerId": "p"}).OK(t)
	player := out["PlayerSession"].(members)["PlayerSessionId"]
	inBoth(t, func(t *testing.T, protocol string) {
		call := func(in members) reply { t.Helper(); return a.call(t, protocol, "DescribePlayerSessions", in) }
		found := func(in members, n int) {
			t.Helper()
			if got := items(t, call(in).OK(t), "PlayerSessions"); len(got) != n {
				t.Errorf("%v: got %d player sessions, want %d", in, len(got), n)
			}
		}
		found(members{"GameSessionId": id, "PlayerSessionStatusFilter": "RESERVED"}, 1)
		found(members{"GameSessionId": id, "PlayerSessionStatusFilter": "COMPLETED"}, 0)
		call(members{"GameSessionId": id, "PlayerSessionStatusFilter": "GONE"}).Want(t, 400, invalidRequest)
		found(members{"PlayerId": "p", "PlayerSessionStatusFilter": "COMPLETED"}, 1)
		found(members{"PlayerId": "p", "PlayerSessionStatusFilter": "GONE"}, 1)
		found(members{"PlayerSessionId": player, "PlayerSessionStatusFilter": "COMPLETED", "Limit": 1, "NextToken": "x"}, 1)
		found(members{"PlayerId": "nobody"}, 0)
		call(members{"PlayerSessionId": "psess-none"}).Want(t, 400, "NotFoundException")
		call(members{"GameSessionId": id + "x"}).Want(t, 400, "NotFoundException")
	})
}

// API-41.
func TestOneSelectorOfPlayerSessionsIsNeeded(t *testing.T) {
	a := newAPI(t)
	id := a.newGameSession(t, 9)
	inBoth(t, func(t *testing.T, protocol string) {
		for _, in := range []members{
			{}, {"GameSessionId": id, "PlayerId": "p"}, {"PlayerId": "p", "PlayerSessionId": "psess-1"},
			{"GameSessionId": id, "PlayerId": "p", "PlayerSessionId": "psess-1"}, {"PlayerSessionStatusFilter": "ACTIVE"},
		} {
			a.call(t, protocol, "DescribePlayerSessions", in).Want(t, 400, invalidRequest)
		}
	})
}

// API-61.
func TestUnknownFleetsAreLeftOut(t *testing.T) {
	a := newAPI(t)
	ids := func(n int) (l []string) {
		for i := range n {
			l = append(l, fmt.Sprint("fleet-", i))
		}
		return l
	}
	inBoth(t, func(t *testing.T, protocol string) {
		call := func(in members) reply { t.Helper(); return a.call(t, protocol, "DescribeFleetAttributes", in) }
		out := call(members{"FleetIds": []string{"fleet-none", "arn:aws:gamelift:us-east-1::fleet/" + fleetTwo, fleetOne, fleetTwo}, "Limit": 1}).OK(t)
		got := items(t, out, "FleetAttributes")
		if len(got) != 2 || got[0]["FleetId"] != fleetTwo || got[1]["FleetId"] != fleetOne {
			t.Fatalf("got %v", got)
		}
		for name, want := range map[string]any{
			"FleetArn": "arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-two", "FleetType": "ON_DEMAND", "ComputeType": "EC2",
			"Status": "ERROR", "Description": "second", "ScriptArn": "arn:aws:gamelift:us-east-1:000000000000:script/script-1",
			"ServerLaunchPath": "/local/game/main.js", "ServerLaunchParameters": "-v",
		} {
			if got[0][name] != want {
				t.Errorf("%s is %v, want %v", name, got[0][name], want)
			}
		}
		for i, want := range []string{"GENERATED", "DISABLED"} {
			if c, _ := got[i]["CertificateConfiguration"].(members); c["CertificateType"] != want {
				t.Errorf("certificates %v, want %s", c, want)
			}
		}
		if got := items(t, call(members{"FleetIds": []string{"fleet-none"}}).OK(t), "FleetAttributes"); len(got) != 0 {
			t.Errorf("got %v", got)
		}
		if n := len(items(t, call(members{}).OK(t), "FleetAttributes")); n != 2 {
			t.Errorf("got %d fleets", n)
		}
		call(members{"FleetIds": ids(25)}).OK(t)
		r := call(members{"FleetIds": ids(26)}).Want(t, 400, invalidRequest)
		if !strings.Contains(r.Body["message"].(string), "25") {
			t.Errorf("text without the maximum: %v", r.Body)
		}
		call(members{"FleetIds": []string{"arn:aws:gamelift:eu-west-1::fleet/" + fleetOne}}).Want(t, 400, "NotFoundException")
	})
}

func TestAPIListFleetsFilters(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		for _, c := range []struct {
			in   members
			want int
		}{
			{members{}, 2}, {members{"ScriptId": "script-1"}, 1}, {members{"ScriptId": "script-2"}, 0}, {members{"BuildId": "build-1"}, 0},
			{members{"ScriptId": "arn:aws:gamelift:us-east-1:123456789012:script/script-1"}, 1},
		} {
			ids, ok := a.call(t, protocol, "ListFleets", c.in).OK(t)["FleetIds"].([]any)
			if !ok || len(ids) != c.want {
				t.Errorf("%v: got %v", c.in, ids)
			}
		}
		a.call(t, protocol, "ListFleets", members{"ScriptId": "script-1", "BuildId": "build-1"}).Want(t, 400, invalidRequest)
	})
}

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

const noGame = "arn:aws:gamelift:us-east-1::gamesession/fleet-one/none"

// API-32.
func TestTerminateGameSessionTakesBothModes(t *testing.T) {
	a := newAPI(t)
	sdk := a.sdk(t, "")
	game := a.newGameSession(t, 2)
	terminate := func(id string, mode types.TerminationMode) (*gamelift.TerminateGameSessionOutput, error) {
		return sdk.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(id), TerminationMode: mode})
	}
	_, err := terminate(noGame, types.TerminationModeForceTerminate)
	wantAs[*types.NotFoundException](t, "unknown", err)
	_, err = terminate("arn:aws:gamelift:eu-west-1::gamesession/fleet-one/none", types.TerminationModeForceTerminate)
	wantAs[*types.NotFoundException](t, "another region", err)
	_, err = terminate(game, "NOW")
	wantAs[*types.InvalidRequestException](t, "no such mode", err)
	if r := a.call(t, "json", "TerminateGameSession", members{"GameSessionId": game}); r.Status != 400 || !strings.Contains(string(r.Raw), "TerminationMode is required") {
		t.Errorf("without a mode: %d %s", r.Status, r.Raw)
	}
	out, err := terminate(strings.Replace(game, "::gamesession", ":000000000000:gamesession", 1), types.TerminationModeTriggerOnProcessTerminate)
	if err != nil || out.GameSession.Status != types.GameSessionStatusTerminating || *out.GameSession.GameSessionId != game {
		t.Fatalf("%+v, %v", out, err)
	}
	described, err := sdk.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(game)})
	if err != nil || described.GameSessions[0].StatusReason != types.GameSessionStatusReasonTriggeredOnProcessTerminate {
		t.Errorf("%+v, %v", described, err)
	}
	_, err = terminate(game, types.TerminationModeForceTerminate)
	wantAs[*types.InvalidGameSessionStatusException](t, "ended", err)
}

func TestGetGameSessionLogUrl(t *testing.T) {
	var length atomic.Int64
	a := newAPI(t, func(o *Options) {
		o.LogURL = func(context.Context, *messages.GameSession, bool) (string, error) {
			if length.Load() == 0 {
				return "", fs.ErrNotExist
			}
			return strings.Repeat("x", int(length.Load())), nil
		}
		o.Log = zerolog.Nop()
	})
	sdk := a.sdk(t, "", func(o *gamelift.Options) { o.RetryMaxAttempts = 1 })
	game := a.newGameSession(t, 2)
	get := func(id string) (string, error) {
		out, err := sdk.GetGameSessionLogUrl(t.Context(), &gamelift.GetGameSessionLogUrlInput{GameSessionId: aws.String(id)})
		if err != nil {
			return "", err
		}
		return *out.PreSignedUrl, nil
	}
	_, err := get(game)
	wantAs[*types.InvalidRequestException](t, "it runs", err)
	_, err = get(noGame)
	wantAs[*types.NotFoundException](t, "unknown", err)
	if _, err := sdk.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{
		GameSessionId: aws.String(game), TerminationMode: types.TerminationModeForceTerminate,
	}); err != nil {
		t.Fatal(err)
	}
	_, err = get(game)
	wantAs[*types.NotFoundException](t, "no log", err)
	for n, ok := range map[int]bool{logURLMax: true, logURLMax + 1: false} {
		length.Store(int64(n))
		if url, err := get(game); (err == nil) != ok || ok && len(url) != n {
			t.Errorf("%d characters: %q, %v", n, url, err)
		}
	}
}
