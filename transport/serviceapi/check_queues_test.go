package serviceapi

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go/encoding/cbor"

	"troupe/messages"
)

const (
	fleetOneARN = "arn:aws:gamelift:us-east-1:000000000000:fleet/" + fleetOne
	aliasOneARN = "arn:aws:gamelift:us-east-1::alias/" + aliasOne
)

func (a *api) newQueue(t *testing.T, name string, more ...members) members {
	t.Helper()
	in := members{"Name": name}
	for _, m := range more {
		maps.Copy(in, m)
	}
	return a.call(t, "json", "CreateGameSessionQueue", in).OK(t)["GameSessionQueue"].(members)
}

func (a *api) startPlacement(t *testing.T, id string, more members) reply {
	t.Helper()
	in := members{"PlacementId": id, "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 8}
	maps.Copy(in, more)
	return a.call(t, "json", "StartGameSessionPlacement", in)
}

// API-42.
func TestAQueueTimeoutIs10To600Seconds(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		for _, s := range []int{9, 601, 0, -1} {
			a.call(t, protocol, "CreateGameSessionQueue", members{"Name": "no", "TimeoutInSeconds": s}).Want(t, 400, invalidRequest)
		}
		q := a.call(t, protocol, "CreateGameSessionQueue", members{"Name": "default-" + protocol}).OK(t)["GameSessionQueue"].(members)
		if q["TimeoutInSeconds"] != 600.0 || q["GameSessionQueueArn"] != "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/default-"+protocol {
			t.Errorf("got %v", q)
		}
		for _, s := range []int{10, 600} {
			q = a.call(t, protocol, "UpdateGameSessionQueue", members{"Name": "default-" + protocol, "TimeoutInSeconds": s}).OK(t)["GameSessionQueue"].(members)
			if q["TimeoutInSeconds"] != float64(s) {
				t.Errorf("got %v", q)
			}
		}
	})
}

// API-43, API-44.
func TestRulesOfAQueueAreEnforced(t *testing.T) {
	a := newAPI(t)
	a.newQueue(t, "taken")
	many := make([]members, 21)
	for i := range many {
		many[i] = members{"DestinationArn": fmt.Sprint(fleetOneARN, i)}
	}
	policies := func(p ...members) members { return members{"PlayerLatencyPolicies": p} }
	destinations := func(arns ...string) members {
		list := make([]members, len(arns))
		for i := range arns {
			list[i] = members{"DestinationArn": arns[i]}
		}
		return members{"Destinations": list}
	}
	priority := func(locations []string, order ...string) members {
		p := members{}
		if order != nil {
			p["PriorityOrder"] = order
		}
		if locations != nil {
			p["LocationOrder"] = locations
		}
		return members{"PriorityConfiguration": p}
	}
	most := func(ms int, s ...int) members {
		p := members{"MaximumIndividualPlayerLatencyMilliseconds": ms}
		if len(s) > 0 {
			p["PolicyDurationSeconds"] = s[0]
		}
		return p
	}
	for _, test := range []struct {
		name string
		in   members
		code string // empty: accepted
	}{
		{"LOCATION without LocationOrder", priority(nil, "LOCATION"), invalidRequest},
		{"LOCATION with LocationOrder", priority([]string{"us-east-1"}, "COST", "LOCATION"), ""},
		{"LocationOrder without LOCATION", priority([]string{"us-east-1"}, "COST"), ""},
		{"LocationOrder alone", priority([]string{"us-east-1"}), ""},
		{"a priority twice", priority(nil, "COST", "COST"), invalidRequest},
		{"a location twice", priority([]string{"a", "a"}, "LOCATION"), invalidRequest},
		{"policy without maximum", policies(members{"PolicyDurationSeconds": 5}), invalidRequest},
		{"policies without duration", policies(most(50), most(60)), invalidRequest},
		{"duration 0 is without", policies(most(50, 0), most(60)), invalidRequest},
		{"without duration, and not the highest", policies(most(50), most(60, 5)), invalidRequest},
		{"without duration, the highest", policies(most(60), most(50, 5)), ""},
		{"without duration, as high as the highest", policies(most(60), most(60, 5)), ""},
		{"too many policies", policies(make([]members, 101)...), invalidRequest},
		{"destination without ARN", members{"Destinations": []members{{}}}, invalidRequest},
		{"id for an ARN", destinations(fleetOne), invalidRequest},
		{"ARN of something else", destinations("arn:aws:gamelift:us-east-1::script/script-1"), invalidRequest},
		{"twice", destinations(fleetOneARN, fleetOneARN), invalidRequest},
		{"twice, with another account", destinations(fleetOneARN, "arn:aws:gamelift:us-east-1::fleet/"+fleetOne), invalidRequest},
		{"too many destinations", members{"Destinations": many}, invalidRequest},
		{"unknown fleet", destinations(fleetOneARN + "1"), "NotFoundException"},
		{"unknown alias", destinations("arn:aws:gamelift:us-east-1::alias/alias-no"), "NotFoundException"},
		{"another region", destinations("arn:aws:gamelift:eu-west-1::fleet/" + fleetOne), "NotFoundException"},
		{"fleet and alias", destinations(aliasOneARN, fleetOneARN), ""},
		{"no destinations", destinations(), ""},
		{"no locations allowed", members{"FilterConfiguration": members{"AllowedLocations": []string{}}}, invalidRequest},
		{"event data", members{"CustomEventData": "line\nline"}, ""},
		{"FIFO target", members{"NotificationTarget": "arn:aws:sns:us-east-1:1:topic.fifo"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, operation := range []string{"CreateGameSessionQueue", "UpdateGameSessionQueue"} {
				in := maps.Clone(test.in)
				in["Name"] = "taken"
				if operation == "CreateGameSessionQueue" {
					in["Name"] = fmt.Sprintf("new-%d", len(a.fake.queues))
				}
				if r := a.call(t, "json", operation, in); test.code != "" {
					r.Want(t, 400, test.code)
				} else {
					r.OK(t)
				}
			}
		})
	}
	a.call(t, "json", "CreateGameSessionQueue", members{"Name": "taken"}).Want(t, 400, invalidRequest)
	a.call(t, "json", "CreateGameSessionQueue", members{"Name": "a_b"}).Want(t, 400, invalidRequest)
	a.call(t, "json", "CreateGameSessionQueue", members{}).Want(t, 400, invalidRequest)
	a.call(t, "json", "CreateGameSessionQueue", members{"Name": "n", "Tags": []members{{"Key": "aws:x", "Value": ""}}}).Want(t, 400, "TaggingFailedException")
	a.call(t, "json", "UpdateGameSessionQueue", members{"Name": "unknown"}).Want(t, 400, "NotFoundException")
	a.call(t, "json", "DeleteGameSessionQueue", members{"Name": "unknown"}).Want(t, 400, "NotFoundException")
	a.call(t, "json", "DeleteGameSessionQueue", members{"Name": "arn:aws:gamelift:eu-west-1::gamesessionqueue/taken"}).Want(t, 400, "NotFoundException")
	a.call(t, "json", "DeleteGameSessionQueue", members{"Name": "arn:aws:gamelift:us-east-1::gamesessionqueue/taken"}).OK(t)
}

// API-45.
func TestEmptyObjectsRemoveASetting(t *testing.T) {
	a := newAPI(t)
	inBoth(t, func(t *testing.T, protocol string) {
		name := "q-" + protocol
		q := a.newQueue(t, name, members{
			"FilterConfiguration":   members{"AllowedLocations": []string{"us-east-1"}},
			"PriorityConfiguration": members{"PriorityOrder": []string{"LOCATION"}, "LocationOrder": []string{"us-east-1"}},
			"Destinations":          []members{{"DestinationArn": fleetOneARN}}, "PlayerLatencyPolicies": []members{{"MaximumIndividualPlayerLatencyMilliseconds": 0}},
			"CustomEventData": "data", "NotificationTarget": "arn:aws:sns:x",
		})
		if q["FilterConfiguration"] == nil || q["PriorityConfiguration"] == nil {
			t.Fatalf("got %v", q)
		}
		policy := items(t, q, "PlayerLatencyPolicies")[0]
		if policy["MaximumIndividualPlayerLatencyMilliseconds"] != 0.0 || policy["PolicyDurationSeconds"] != nil {
			t.Fatalf("got %v", policy)
		}
		update := func(in members) members {
			in["Name"] = name
			return a.call(t, protocol, "UpdateGameSessionQueue", in).OK(t)["GameSessionQueue"].(members)
		}
		if same := update(members{}); fmt.Sprint(same) != fmt.Sprint(q) {
			t.Fatalf("got %v, had %v", same, q)
		}
		q = update(members{"FilterConfiguration": members{}, "PriorityConfiguration": members{}})
		if q["FilterConfiguration"] != nil || q["PriorityConfiguration"] != nil || q["CustomEventData"] != "data" || len(items(t, q, "Destinations")) != 1 {
			t.Fatalf("got %v", q)
		}
		q = update(members{"Destinations": []members{}, "PlayerLatencyPolicies": []members{}, "CustomEventData": "", "NotificationTarget": ""})
		if len(items(t, q, "Destinations")) != 0 || len(items(t, q, "PlayerLatencyPolicies")) != 0 || q["CustomEventData"] != nil || q["NotificationTarget"] != nil {
			t.Fatalf("got %v", q)
		}
	})
}

func TestQueuesAreListed(t *testing.T) {
	a := newAPI(t)
	for i := range 60 {
		a.newQueue(t, fmt.Sprintf("q%02d", i))
	}
	page := a.call(t, "json", "DescribeGameSessionQueues", members{"Limit": 1000}).OK(t)
	if got := items(t, page, "GameSessionQueues"); len(got) != 50 || got[49]["Name"] != "q49" {
		t.Fatalf("got %d", len(got))
	}
	last := a.call(t, "json", "DescribeGameSessionQueues", members{"NextToken": page["NextToken"]}).OK(t)
	if got := items(t, last, "GameSessionQueues"); len(got) != 10 || last["NextToken"] != nil {
		t.Fatalf("got %d, %v", len(got), last["NextToken"])
	}
	some := a.call(t, "json", "DescribeGameSessionQueues", members{
		"Names": []string{"q07", "unknown", "arn:aws:gamelift:us-east-1::gamesessionqueue/q03", "q03", "arn:aws:gamelift:eu-west-1::gamesessionqueue/q04"},
	}).OK(t)
	if got := items(t, some, "GameSessionQueues"); len(got) != 2 || got[0]["Name"] != "q03" || got[1]["Name"] != "q07" {
		t.Fatalf("got %v", got)
	}
	none := a.call(t, "json", "DescribeGameSessionQueues", members{"Names": []string{"unknown"}}).OK(t)
	if got := items(t, none, "GameSessionQueues"); len(got) != 0 {
		t.Fatalf("got %v", got)
	}
	a.call(t, "json", "DescribeGameSessionQueues", members{"NextToken": "x"}).Want(t, 400, invalidRequest)
}

// API-46, API-48.
func TestAStartedPlacementIsPending(t *testing.T) {
	a := newAPI(t)
	a.newQueue(t, "q")
	latency := func(more members) members {
		l := members{"PlayerId": "p", "RegionIdentifier": "us-east-1", "LatencyInMilliseconds": 50.5}
		for k, v := range more {
			if l[k] = v; v == nil {
				delete(l, k)
			}
		}
		return members{"PlayerLatencies": []members{l}}
	}
	desired := func(ids ...string) members {
		list := make([]members, len(ids))
		for i := range ids {
			list[i] = members{"PlayerId": ids[i]}
		}
		return members{"DesiredPlayerSessions": list}
	}
	override := func(strategy string, locations ...string) members {
		o := members{"LocationOrder": locations}
		if strategy != "" {
			o["PlacementFallbackStrategy"] = strategy
		}
		return members{"PriorityConfigurationOverride": o}
	}
	both := latency(nil)
	maps.Copy(both, override("", "us-east-1"))
	for _, test := range []struct {
		name string
		in   members
		code string
	}{
		{"201 players", members{"MaximumPlayerSessionCount": 201}, invalidRequest},
		{"200 players", members{"MaximumPlayerSessionCount": 200}, ""},
		{"0 players", members{"MaximumPlayerSessionCount": 0}, ""},
		{"no such queue", members{"GameSessionQueueName": "no"}, "NotFoundException"},
		{"queue of another region", members{"GameSessionQueueName": "arn:aws:gamelift:eu-west-1::gamesessionqueue/q"}, "NotFoundException"},
		{"queue by ARN", members{"GameSessionQueueName": "arn:aws:gamelift:us-east-1:123456789012:gamesessionqueue/q"}, ""},
		{"latencies and override", both, invalidRequest},
		{"override", override("NONE", "us-east-1"), ""},
		{"override with a location twice", override("", "a", "a"), invalidRequest},
		{"override without locations", override(""), invalidRequest},
		{"latency", latency(nil), ""},
		{"latency 0", latency(members{"LatencyInMilliseconds": 0}), ""},
		{"negative latency", latency(members{"LatencyInMilliseconds": -1}), invalidRequest},
		{"no latency", latency(members{"LatencyInMilliseconds": nil}), invalidRequest},
		{"latency of nobody", latency(members{"PlayerId": nil}), invalidRequest},
		{"latency of nowhere", latency(members{"RegionIdentifier": nil}), invalidRequest},
		{"player without id", members{"DesiredPlayerSessions": []members{{"PlayerData": "x"}}}, invalidRequest},
		{"player twice", desired("a", "b", "a"), invalidRequest},
		{"more players than seats", desired("1", "2", "3", "4", "5", "6", "7", "8", "9"), invalidRequest},
		{"as many players as seats", desired("1", "2", "3", "4", "5", "6", "7", "8"), ""},
		{"property twice", members{"GameProperties": []members{{"Key": "a", "Value": ""}, {"Key": "a", "Value": ""}}}, invalidRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := a.startPlacement(t, fmt.Sprint("p-", len(a.fake.started)), test.in)
			if test.code != "" {
				r.Want(t, 400, test.code)
				return
			}
			p := r.OK(t)["GameSessionPlacement"].(members)
			if p["Status"] != "PENDING" || p["GameSessionQueueName"] != "q" || p["StartTime"] == nil || p["EndTime"] != nil || p["GameSessionId"] != nil || p["Port"] != nil {
				t.Errorf("got %v", p)
			}
		})
	}
	for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		l := cbor.Map{"PlayerId": cbor.String("p"), "RegionIdentifier": cbor.String("a"), "LatencyInMilliseconds": cbor.Float32(float32(bad))}
		body := cbor.Encode(cbor.Map{
			"PlacementId": cbor.String("nan"), "GameSessionQueueName": cbor.String("q"), "MaximumPlayerSessionCount": cbor.Uint(1), "PlayerLatencies": cbor.List{l},
		})
		if r := a.raw(t, "cbor", "StartGameSessionPlacement", body); r.Status != 400 {
			t.Errorf("%v: got %v", bad, r.Body)
		}
	}
	a.startPlacement(t, "p-0", nil).Want(t, 400, invalidRequest)
	a.fake.full = true
	a.startPlacement(t, "over", nil).Want(t, 400, "ThrottlingException")
}

// In both protocols, every member of a placement request reaches the backend and is in the response.
func TestPlacementIsEchoed(t *testing.T) {
	a := newAPI(t)
	a.newQueue(t, "q")
	inBoth(t, func(t *testing.T, protocol string) {
		id := "p-" + protocol
		in := members{
			"PlacementId": id, "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 4, "GameSessionName": "name", "GameSessionData": "data",
			"GameProperties":        []members{{"Key": "k", "Value": "v"}},
			"PlayerLatencies":       []members{{"PlayerId": "x", "RegionIdentifier": "us-east-1", "LatencyInMilliseconds": 12.5}},
			"DesiredPlayerSessions": []members{{"PlayerId": "x", "PlayerData": "d"}},
		}
		p := a.call(t, protocol, "StartGameSessionPlacement", in).OK(t)["GameSessionPlacement"].(members)
		for _, member := range []string{"PlacementId", "GameSessionQueueName", "GameSessionName", "GameSessionData", "GameProperties", "PlayerLatencies", "MaximumPlayerSessionCount"} {
			if fmt.Sprint(p[member]) != fmt.Sprint(in[member]) {
				t.Errorf("%s: got %v, gave %v", member, p[member], in[member])
			}
		}
		got := a.fake.started[len(a.fake.started)-1]
		if got.Players[0] != (messages.NewPlayer{PlayerID: "x", PlayerData: "d"}) || got.Latencies[0].Latency != 12.5 || got.Name != "name" || got.Data != "data" || got.MaxPlayers != 4 {
			t.Errorf("the host got %+v", got)
		}
		p = a.call(t, protocol, "StartGameSessionPlacement", members{
			"PlacementId": id + "-override", "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 0,
			"PriorityConfigurationOverride": members{"LocationOrder": []string{"b", "a"}},
		}).OK(t)["GameSessionPlacement"].(members)
		if fmt.Sprint(p["PriorityConfigurationOverride"]) != "map[LocationOrder:[b a] PlacementFallbackStrategy:DEFAULT_AFTER_SINGLE_PASS]" {
			t.Errorf("got %v", p["PriorityConfigurationOverride"])
		}
		a.call(t, protocol, "DescribeGameSessionPlacement", members{"PlacementId": "unknown"}).Want(t, 400, "NotFoundException")
		a.call(t, protocol, "StopGameSessionPlacement", members{"PlacementId": "unknown"}).Want(t, 400, "NotFoundException")
		p = a.call(t, protocol, "StopGameSessionPlacement", members{"PlacementId": id}).OK(t)["GameSessionPlacement"].(members)
		if p["Status"] != "CANCELLED" || p["EndTime"] == nil {
			t.Errorf("got %v", p)
		}
		a.call(t, protocol, "StopGameSessionPlacement", members{"PlacementId": id}).Want(t, 400, invalidRequest)
	})
}

// API-50.
func TestFulfilledPlacementIsShown(t *testing.T) {
	a := newAPI(t)
	a.fake.placements = []*messages.Placement{{
		Request: messages.StartPlacement{ID: "p", Queue: "q", MaxPlayers: 2}, Status: messages.PlacementFulfilled, Started: epochStart, Ended: epochStart.Add(time.Second),
		GameSessionID: "arn:game", Location: "eu-west-1", IPAddress: "127.0.0.1", Port: 1900,
		Placed: []messages.PlacedPlayer{{PlayerID: "x", PlayerSessionID: "psess-1"}},
	}}
	inBoth(t, func(t *testing.T, protocol string) {
		p := a.call(t, protocol, "DescribeGameSessionPlacement", members{"PlacementId": "p"}).OK(t)["GameSessionPlacement"].(members)
		if p["GameSessionId"] != "arn:game" || p["GameSessionArn"] != "arn:game" || p["GameSessionRegion"] != "eu-west-1" || p["Port"] != 1900.0 ||
			p["IpAddress"] != "127.0.0.1" || p["DnsName"] != nil || fmt.Sprint(p["PlacedPlayerSessions"]) != "[map[PlayerId:x PlayerSessionId:psess-1]]" || p["EndTime"] == nil {
			t.Errorf("got %v", p)
		}
	})
}

// The current Go SDK runs the worked example of the API page.
func TestGoSDKPlaces(t *testing.T) {
	a := newAPI(t)
	client := a.sdk(t, "")
	_, err := client.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("q"), TimeoutInSeconds: aws.Int32(120), Destinations: []types.GameSessionQueueDestination{{DestinationArn: aws.String(fleetOneARN)}},
		PlayerLatencyPolicies: []types.PlayerLatencyPolicy{{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(130), PolicyDurationSeconds: aws.Int32(60)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var latencies []types.PlayerLatency
	for _, l := range []struct {
		player, region string
		ms             float32
	}{{"player1", "us-east-1", 100}, {"player1", "us-west-2", 50}, {"player2", "us-east-1", 120}, {"player2", "us-west-2", 150}} {
		latencies = append(latencies, types.PlayerLatency{PlayerId: &l.player, RegionIdentifier: &l.region, LatencyInMilliseconds: &l.ms})
	}
	out, err := client.StartGameSessionPlacement(t.Context(), &gamelift.StartGameSessionPlacementInput{
		PlacementId: aws.String("p"), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2), PlayerLatencies: latencies,
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("player1")}, {PlayerId: aws.String("player2")}},
	})
	if err != nil || out.GameSessionPlacement.Status != types.GameSessionPlacementStatePending || len(out.GameSessionPlacement.PlayerLatencies) != 4 {
		t.Fatal(out, err)
	}
	if got := a.fake.started[0].Latencies[3]; got != (messages.PlayerLatency{PlayerID: "player2", Location: "us-west-2", Latency: 150}) {
		t.Fatal(got)
	}
	pages := 0
	pager := gamelift.NewDescribeGameSessionQueuesPaginator(client, &gamelift.DescribeGameSessionQueuesInput{})
	for pager.HasMorePages() {
		page, err := pager.NextPage(t.Context())
		if err != nil || len(page.GameSessionQueues) != 1 {
			t.Fatal(page, err)
		}
		pages++
	}
	if pages != 1 {
		t.Fatal(pages)
	}
}
