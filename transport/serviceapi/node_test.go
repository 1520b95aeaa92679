package serviceapi

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"troupe/messages"
	"troupe/transport/serviceapi/serviceapitest"
)

func TestNodeSDK(t *testing.T) {
	node := serviceapitest.InstallNode(t)
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		got := node.Run(t, a.url+"/prefix", fleetOne, protocol)
		if !strings.HasPrefix(got.GameSessionID, "arn:aws:gamelift:us-east-1::gamesession/fleet-one/gsess-") ||
			got.GameSession.Status != "ACTIVE" || got.GameSession.Port != 7000 || got.GameSession.IPAddress == "" || !got.GameSession.CurrentSeen ||
			got.CreationTimeMS != a.fake.games[0].Created.Round(1e6).UnixMilli() {
			t.Errorf("game session: %+v", got)
		}
		var ids, players []string
		for _, p := range got.Described {
			ids, players = append(ids, p.ID), append(players, p.PlayerID)
		}
		if got.Pages != 2 || !slices.Equal(ids, got.PlayerSessionIDs) || !slices.Equal(players, []string{"js-1", "js-2", "js-3"}) {
			t.Errorf("player sessions: %+v", got)
		}
		if !slices.Equal(got.Searched, []string{got.GameSessionID}) || !slices.Contains(got.FleetIDs, fleetOne) || got.FleetStatus != "ACTIVE" {
			t.Errorf("search and fleets: %+v", got)
		}
		if name := a.fake.created[0].Name; name != "from JavaScript \u2603" {
			t.Errorf("name %q", name)
		}
		if e := got.Errors; e["unknownGameSession"] != "NotFoundException" || e["full"] != "GameSessionFullException" || e["noSelector"] != invalidRequest {
			t.Errorf("errors: %v", e)
		}
	})
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		a.fake.happened(messages.FleetEvent{ID: "e", Code: "FLEET_CREATED", Message: "m", Time: epochStart, Count: 1})
		got := node.RunScripts(t, a.url, protocol, []byte("PK"))
		want := serviceapitest.NodeScripts{
			ScriptID: "script-0000", Size: 2, NodeVersion: "24.x", Versions: []string{"1", "2", "2"}, Listed: []string{"script-0000"},
			FleetID: "fleet-0002", FleetStatus: "NEW", Locations: []string{"us-east-1"}, Concurrent: 3, Events: []string{"FLEET_CREATED"}, EventTimes: true,
			Errors: map[string]string{"deletedTwice": "InvalidFleetStatusException", "unknownScript": "NotFoundException"},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if string(a.fake.made[0].Zip) != "PK" || string(a.fake.changed[0].Zip) != "PK" {
			t.Errorf("zips %q, %q", a.fake.made[0].Zip, a.fake.changed[0].Zip)
		}
	})
}
