package serviceapi

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"troupe/messages"
)

const someARN = "arn:aws:gamelift:us-east-1:123456789012:"

// refused calls an operation with several inputs and expects the same error for each.
func refused(t *testing.T, a *api, protocol, operation, code string, inputs map[string]members) {
	t.Helper()
	for name, in := range inputs {
		t.Run(operation+"/"+name, func(t *testing.T) { a.call(t, protocol, operation, in).Want(t, 400, code) })
	}
}

// API-62.
func TestResolveAliasReturnsIDAndARN(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		simple := members{"Type": "SIMPLE", "FleetId": fleetOne}
		good := members{"Name": "n", "RoutingStrategy": simple, "Description": "d", "Tags": []members{{"Key": "k", "Value": "v"}}}
		refused(t, a, protocol, "CreateAlias", invalidRequest, map[string]members{
			"no type":           with(good, "RoutingStrategy", members{"FleetId": fleetOne}),
			"simple, no fleet":  with(good, "RoutingStrategy", members{"Type": "SIMPLE"}),
			"simple, message":   with(good, "RoutingStrategy", members{"Type": "SIMPLE", "FleetId": fleetOne, "Message": "m"}),
			"terminal, none":    with(good, "RoutingStrategy", members{"Type": "TERMINAL"}),
			"terminal, a fleet": with(good, "RoutingStrategy", members{"Type": "TERMINAL", "Message": "m", "FleetId": fleetOne}),
			"unknown fleet":     with(good, "RoutingStrategy", members{"Type": "SIMPLE", "FleetId": "fleet-none"}),
			"fleet as ARN":      with(good, "RoutingStrategy", members{"Type": "SIMPLE", "FleetId": someARN + "fleet/fleet-one"}),
		})
		refused(t, a, protocol, "CreateAlias", "TaggingFailedException", map[string]members{
			"tag": with(good, "Tags", []members{{"Key": "AWS:x", "Value": "v"}}),
		})
		alias := a.call(t, protocol, "CreateAlias", good).OK(t)["Alias"].(members)
		if alias["AliasId"] != "alias-0000" || alias["AliasArn"] != "arn:aws:gamelift:us-east-1::alias/alias-0000" || alias["Name"] != "n" ||
			alias["Description"] != "d" || !reflect.DeepEqual(alias["RoutingStrategy"], simple) || alias["LastUpdatedTime"] != alias["CreationTime"] {
			t.Errorf("created %v", alias)
		}
		for _, id := range []string{"alias-0000", someARN + "alias/alias-0000", "arn:aws:gamelift:us-east-1::alias/alias-0000"} {
			out := a.call(t, protocol, "ResolveAlias", members{"AliasId": id}).OK(t)
			if out["FleetId"] != fleetOne || out["FleetArn"] != "arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-one" {
				t.Errorf("resolved %v", out)
			}
		}
		end := members{"Type": "TERMINAL", "Message": endText}
		updated := a.call(t, protocol, "UpdateAlias", members{"AliasId": "alias-0000", "RoutingStrategy": end, "Name": "other"}).OK(t)["Alias"].(members)
		if updated["Name"] != "other" || !reflect.DeepEqual(updated["RoutingStrategy"], end) || updated["LastUpdatedTime"] == updated["CreationTime"] {
			t.Errorf("updated %v", updated)
		}
		if r := a.call(t, protocol, "ResolveAlias", members{"AliasId": "alias-0000"}).Want(t, 400, "TerminalRoutingStrategyException"); r.Body["Message"] != endText {
			t.Errorf("got %v", r.Body)
		}
		if got := a.call(t, protocol, "DescribeAlias", members{"AliasId": "alias-0000"}).OK(t)["Alias"]; !reflect.DeepEqual(got, updated) {
			t.Errorf("described %v, want %v", got, updated)
		}
		a.call(t, protocol, "DeleteAlias", members{"AliasId": "alias-0000"}).OK(t)
		for _, operation := range []string{"DescribeAlias", "UpdateAlias", "DeleteAlias", "ResolveAlias"} {
			a.call(t, protocol, operation, members{"AliasId": "alias-0000"}).Want(t, 400, "NotFoundException")
		}
	})
}

func TestAliasesAreListedByNameAndType(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		for _, name := range []string{"a", "b", "a"} {
			a.call(t, protocol, "CreateAlias", members{"Name": name, "RoutingStrategy": members{"Type": "SIMPLE", "FleetId": fleetOne}}).OK(t)
		}
		a.call(t, protocol, "CreateAlias", members{"Name": "a", "RoutingStrategy": members{"Type": "TERMINAL", "Message": "m"}}).OK(t)
		for want, in := range map[string]members{
			"alias-0000 alias-0001 alias-0002 alias-0003": {},
			"alias-0000 alias-0002 alias-0003":            {"Name": "a"},
			"alias-0003":                                  {"Name": "a", "RoutingStrategyType": "TERMINAL"},
			"alias-0001":                                  {"Name": "b", "RoutingStrategyType": "SIMPLE"},
			"":                                            {"Name": "A"},
		} {
			var got []string
			for token := any(nil); ; {
				page := with(with(in, "Limit", 2), "NextToken", token)
				out := a.call(t, protocol, "ListAliases", page).OK(t)
				for _, item := range items(t, out, "Aliases") {
					got = append(got, item["AliasId"].(string))
				}
				if token = out["NextToken"]; token == nil {
					break
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%v: got %v, want %s", in, got, want)
			}
		}
		a.call(t, protocol, "ListAliases", members{"NextToken": "x"}).Want(t, 400, invalidRequest)
	})
}

func TestTagsOfResources(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		a.fake.tags = map[messages.Resource]map[string]string{{Kind: "fleet", ID: fleetOne}: {"old": "1"}}
		arn := someARN + "fleet/fleet-one"
		tag := func(key, value string) []members { return []members{{"Key": key, "Value": value}} }
		many := []members{}
		for i := range 51 {
			many = append(many, members{"Key": "k" + strings.Repeat("x", i), "Value": ""})
		}
		refused(t, a, protocol, "TagResource", "TaggingFailedException", map[string]members{
			"reserved": {"ResourceARN": arn, "Tags": tag("aws:k", "v")}, "too many": {"ResourceARN": arn, "Tags": many},
			"too many with old ones": {"ResourceARN": arn, "Tags": many[:50]},
		})
		refused(t, a, protocol, "ListTagsForResource", "NotFoundException", map[string]members{
			"unknown": {"ResourceARN": someARN + "fleet/fleet-none"}, "kind": {"ResourceARN": someARN + "gamesession/x"}, "no ARN": {"ResourceARN": "fleet-one"},
			"region": {"ResourceARN": "arn:aws:gamelift:eu-west-1::fleet/fleet-one"},
		})
		a.call(t, protocol, "TagResource", members{"ResourceARN": arn, "Tags": tag("new", "")}).OK(t)
		a.call(t, protocol, "TagResource", members{"ResourceARN": arn, "Tags": tag("old", "2")}).OK(t)
		list := func() []members {
			return items(t, a.call(t, protocol, "ListTagsForResource", members{"ResourceARN": arn}).OK(t), "Tags")
		}
		if got := list(); len(got) != 2 || got[0]["Key"] != "new" || got[0]["Value"] != "" || got[1]["Value"] != "2" {
			t.Errorf("got %v", got)
		}
		a.call(t, protocol, "UntagResource", members{"ResourceARN": arn, "TagKeys": []string{"old", "absent"}}).OK(t)
		if got := list(); len(got) != 1 || got[0]["Key"] != "new" {
			t.Errorf("got %v", got)
		}
	})
}

func TestFleetCapacityAndUtilization(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		for _, f := range a.fake.fleets {
			a.fake.uses = append(a.fake.uses, messages.FleetUse{Fleet: f, Location: "us-east-1", Groups: messages.Groups{Desired: 3, Min: 1, Max: 5},
				Active: 3, Idle: 2, Terminating: 1, Processes: 12, GameSessions: 4, Players: 7, PlayersMax: 40})
		}
		counts := members{"DESIRED": 3.0, "MINIMUM": 1.0, "MAXIMUM": 5.0, "PENDING": 0.0, "ACTIVE": 3.0, "IDLE": 2.0, "TERMINATING": 1.0}
		for _, in := range []members{{"FleetIds": []string{fleetTwo, fleetOne, "fleet-none"}}, {}} {
			out := items(t, a.call(t, protocol, "DescribeFleetCapacity", in).OK(t), "FleetCapacity")
			if len(out) != 2 || !reflect.DeepEqual(out[0]["InstanceCounts"], counts) || out[0]["Location"] != "us-east-1" || out[0]["InstanceType"] != "local" {
				t.Errorf("capacity %v", out)
			}
			used := items(t, a.call(t, protocol, "DescribeFleetUtilization", in).OK(t), "FleetUtilization")
			if len(used) != 2 || used[0]["ActiveServerProcessCount"] != 12.0 || used[0]["ActiveGameSessionCount"] != 4.0 ||
				used[0]["CurrentPlayerSessionCount"] != 7.0 || used[0]["MaximumPlayerSessionCount"] != 40.0 {
				t.Errorf("utilization %v", used)
			}
		}
		first := a.call(t, protocol, "DescribeFleetUtilization", members{"Limit": 1}).OK(t)
		if second := a.call(t, protocol, "DescribeFleetUtilization", members{"Limit": 1, "NextToken": first["NextToken"]}).OK(t); second["NextToken"] != nil ||
			items(t, second, "FleetUtilization")[0]["FleetId"] != fleetTwo {
			t.Errorf("second page %v", second)
		}
		tooMany := make([]string, 26)
		for i := range tooMany {
			tooMany[i] = fleetOne
		}
		here := members{"FleetId": fleetOne, "Location": "us-east-1"}
		for _, operation := range []string{"DescribeFleetLocationCapacity", "DescribeFleetLocationUtilization"} {
			a.call(t, protocol, operation, here).OK(t)
			a.call(t, protocol, operation, with(here, "Location", "eu-west-1")).Want(t, 400, "NotFoundException")
		}
		for _, operation := range []string{"DescribeFleetCapacity", "DescribeFleetUtilization"} {
			if r := a.call(t, protocol, operation, members{"FleetIds": tooMany}).Want(t, 400, invalidRequest); !strings.Contains(r.Body["message"].(string), "25") {
				t.Errorf("%v does not hold the maximum", r.Body)
			}
		}
		a.call(t, protocol, "UpdateFleetCapacity", members{"FleetId": fleetOne, "DesiredInstances": 0, "Location": "us-east-1"}).OK(t)
		if got, want := a.fake.got[len(a.fake.got)-1], (messages.UpdateCapacity{FleetID: fleetOne, Location: "us-east-1", Desired: aws.Int(0)}); !reflect.DeepEqual(got, want) {
			t.Errorf("the backend got %+v", got)
		}
		refused(t, a, protocol, "UpdateFleetCapacity", invalidRequest, map[string]members{
			"nothing": {"FleetId": fleetOne},
			"managed": {"FleetId": fleetOne, "ManagedCapacityConfiguration": members{"ZeroCapacityStrategy": "SCALE_TO_AND_FROM_ZERO"}},
			"minutes": {"FleetId": fleetOne, "MinSize": 1, "ManagedCapacityConfiguration": members{"ScaleInAfterInactivityMinutes": 4}},
		})
	})
}

func TestFleetSettings(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		out := a.call(t, protocol, "UpdateFleetAttributes", members{"FleetId": someARN + "fleet/fleet-one", "Name": "n", "NewGameSessionProtectionPolicy": "FullProtection",
			"ResourceCreationLimitPolicy": members{"NewGameSessionsPerCreator": 3, "PolicyPeriodInMinutes": 15}}).OK(t)
		if out["FleetId"] != fleetOne {
			t.Errorf("got %v", out)
		}
		if got, want := a.fake.got[0], (messages.UpdateFleet{FleetID: fleetOne, Name: aws.String("n"), Protection: aws.Bool(true),
			CreatorLimit: &messages.CreatorLimit{PerPeriod: 3, Period: 15 * time.Minute}}); !reflect.DeepEqual(got, want) {
			t.Errorf("the backend got %+v", got)
		}
		refused(t, a, protocol, "UpdateFleetAttributes", invalidRequest, map[string]members{
			"name": {"FleetId": fleetOne, "Name": ""}, "policy": {"FleetId": fleetOne, "NewGameSessionProtectionPolicy": "No"},
			"period": {"FleetId": fleetOne, "ResourceCreationLimitPolicy": members{"PolicyPeriodInMinutes": 1<<31 - 1}},
			"groups": {"FleetId": fleetOne, "MetricGroups": []string{"a", "b"}}, "cost": {"FleetId": fleetOne, "AnywhereConfiguration": members{"Cost": "1,5"}},
		})
		a.fake.fleets[0].CreatorLimit = &messages.CreatorLimit{PerPeriod: 3, Period: 15 * time.Minute}
		attributes := items(t, a.call(t, protocol, "DescribeFleetAttributes", members{"FleetIds": []string{fleetOne}}).OK(t), "FleetAttributes")[0]
		if got, want := attributes["ResourceCreationLimitPolicy"], (members{"NewGameSessionsPerCreator": 3.0, "PolicyPeriodInMinutes": 15.0}); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v", got)
		}
		a.fake.fleets[0].Ports = []messages.Port{{From: 1, To: 2, Range: "10.0.0.0/8", Protocol: "UDP"}}
		described := a.call(t, protocol, "DescribeFleetPortSettings", members{"FleetId": fleetOne}).OK(t)
		want := members{"FromPort": 1.0, "ToPort": 2.0, "IpRange": "10.0.0.0/8", "Protocol": "UDP"}
		if got := items(t, described, "InboundPermissions"); len(got) != 1 || !reflect.DeepEqual(got[0], want) || described["Location"] != "us-east-1" {
			t.Errorf("got %v", described)
		}
		a.call(t, protocol, "DescribeFleetPortSettings", members{"FleetId": fleetOne, "Location": "eu-west-1"}).Want(t, 400, "NotFoundException")
		want["FromPort"], want["ToPort"] = 1, 2 // as integers
		a.call(t, protocol, "UpdateFleetPortSettings", members{"FleetId": fleetOne, "InboundPermissionRevocations": []members{want}}).OK(t)
		refused(t, a, protocol, "UpdateFleetPortSettings", invalidRequest, map[string]members{
			"order": {"FleetId": fleetOne, "InboundPermissionAuthorizations": []members{with(want, "FromPort", 3)}},
		})
		for _, operation := range []string{"UpdateFleetAttributes", "UpdateFleetPortSettings", "DescribeFleetPortSettings", "DescribeInstances"} {
			a.call(t, protocol, operation, members{"FleetId": "fleet-none"}).Want(t, 400, "NotFoundException")
		}
		a.fake.instances = []messages.Instance{{ID: "i-1", Location: "us-east-1", Status: "ACTIVE", IPAddress: "127.0.0.1", Created: epochStart}, {ID: "i-2", Created: epochStart.Add(time.Second)}}
		all := a.call(t, protocol, "DescribeInstances", members{"FleetId": fleetOne}).OK(t)
		if got := items(t, all, "Instances"); len(got) != 2 || got[0]["InstanceId"] != "i-1" || got[0]["Status"] != "ACTIVE" || got[0]["Type"] != "local" {
			t.Errorf("got %v", all)
		}
		a.call(t, protocol, "DescribeInstances", members{"FleetId": fleetOne, "InstanceId": "i-3"}).Want(t, 400, "NotFoundException")
	})
}

// A host without builds, and one without scaling policies, which is any: their lists are empty rather than errors, so that
// inventory scripts work.
func TestListsOfUnsupportedResourcesAreEmpty(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		if out := a.call(t, protocol, "ListBuilds", members{"Status": "READY", "Limit": 5}).OK(t); len(items(t, out, "Builds")) != 0 || out["NextToken"] != nil {
			t.Errorf("builds %v", out)
		}
		out := a.call(t, protocol, "DescribeScalingPolicies", members{"FleetId": fleetOne, "StatusFilter": "ACTIVE", "Location": "us-east-1"}).OK(t)
		if len(items(t, out, "ScalingPolicies")) != 0 || out["NextToken"] != nil {
			t.Errorf("scaling policies %v", out)
		}
		for operation, wrong := range map[string][]members{
			"ListBuilds":              {{"Status": "BUILT"}, {"Limit": 0}, {"NextToken": "made-up"}},
			"DescribeScalingPolicies": {{}, {"FleetId": fleetOne, "StatusFilter": "SOME"}, {"FleetId": fleetOne, "NextToken": "made-up"}},
		} {
			for _, in := range wrong {
				a.call(t, protocol, operation, in).Want(t, 400, invalidRequest)
			}
		}
		for _, in := range []members{{"FleetId": "fleet-none"}, {"FleetId": fleetOne, "Location": "mars"}} {
			a.call(t, protocol, "DescribeScalingPolicies", in).Want(t, 400, "NotFoundException")
		}
	})
}

func TestLocationsOfFleetsAndOfTheHost(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		places := func(names ...string) (all []members) {
			for _, n := range names {
				all = append(all, members{"Location": n})
			}
			return all
		}
		made := a.call(t, protocol, "CreateFleetLocations", members{"FleetId": fleetOne, "Locations": places("eu-west-1", "custom-attic")}).OK(t)
		if states := items(t, made, "LocationStates"); len(states) != 2 || states[1]["Location"] != "custom-attic" || states[0]["Status"] != "NEW" || states[1]["Status"] != "NEW" {
			t.Errorf("got %v", made)
		}
		a.call(t, protocol, "CreateScript", members{"ZipFile": zipMember(protocol, []byte("PK"))}).OK(t)
		fleet := a.call(t, protocol, "CreateFleet", members{"Name": "f", "ScriptId": "script-0000", "Locations": places("eu-west-1")}).OK(t)
		if states := items(t, fleet, "LocationStates"); len(states) != 2 || states[0]["Location"] != "us-east-1" || states[1]["Location"] != "eu-west-1" || states[1]["Status"] != "NEW" {
			t.Errorf("the home location is not added: %v", fleet)
		}
		gone := a.call(t, protocol, "DeleteFleetLocations", members{"FleetId": fleetOne, "Locations": []string{"eu-west-1"}}).OK(t)
		if states := items(t, gone, "LocationStates"); len(states) != 1 || states[0]["Status"] != "DELETING" {
			t.Errorf("got %v", gone)
		}
		refused(t, a, protocol, "CreateFleetLocations", invalidRequest, map[string]members{
			"none": {"FleetId": fleetOne, "Locations": places()}, "twice": {"FleetId": fleetOne, "Locations": places("a", "a")}, "name": {"FleetId": fleetOne, "Locations": places("a b")},
		})
		refused(t, a, protocol, "DeleteFleetLocations", invalidRequest, map[string]members{"twice": {"FleetId": fleetOne, "Locations": []string{"a", "a"}}})
		shown := a.call(t, protocol, "DescribeFleetLocationAttributes", members{"FleetId": fleetTwo, "Locations": []string{"us-east-1", "mars"}}).OK(t)
		var states []string
		for _, l := range items(t, shown, "LocationAttributes") {
			states = append(states, l["LocationState"].(members)["Status"].(string))
		}
		if strings.Join(states, " ") != "ERROR NOT_FOUND" {
			t.Errorf("got %v", shown)
		}

		a.fake.locations = []messages.Location{{Name: "eu-west-1"}, {Name: "us-east-1"}}
		attic := a.call(t, protocol, "CreateLocation", members{"LocationName": "custom-attic"}).OK(t)["Location"].(members)
		if attic["LocationArn"] != "arn:aws:gamelift:us-east-1:000000000000:location/custom-attic" {
			t.Errorf("got %v", attic)
		}
		a.call(t, protocol, "CreateLocation", members{"LocationName": "custom-attic"}).Want(t, 400, "ConflictException")
		for want, in := range map[string]members{
			"custom-attic eu-west-1 us-east-1": {}, "eu-west-1 us-east-1": {"Filters": []string{"AWS"}}, "custom-attic": {"Filters": []string{"CUSTOM"}},
			"custom-attic eu-west-1": {"Limit": 2},
		} {
			var names []string
			for _, l := range items(t, a.call(t, protocol, "ListLocations", in).OK(t), "Locations") {
				names = append(names, l["LocationName"].(string))
			}
			if strings.Join(names, " ") != want {
				t.Errorf("%v: got %v, want %s", in, names, want)
			}
		}
		a.call(t, protocol, "DeleteLocation", members{"LocationName": someARN + "location/custom-attic"}).OK(t)
		a.call(t, protocol, "DeleteLocation", members{"LocationName": "custom-attic"}).Want(t, 400, "NotFoundException")
	})
}
