package serviceapi

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"troupe/messages"
)

// zipMember returns a blob member in the form of a protocol.
func zipMember(protocol string, zip []byte) any {
	if protocol == "cbor" {
		return cbor.Slice(zip)
	}
	return base64.StdEncoding.EncodeToString(zip)
}

func with(in members, name string, value any) members {
	out := members{name: value}
	for k, v := range in {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// API-58.
func TestCreateScriptTakesOneSource(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		zip := zipMember(protocol, []byte("PK"))
		place := members{"Bucket": "bucket", "Key": "key", "RoleArn": "arn:aws:iam::1:role/x"}
		tags := []members{}
		for i := range 51 {
			tags = append(tags, members{"Key": "k" + strings.Repeat("x", i), "Value": ""})
		}
		for name, c := range map[string]struct {
			in   members
			code string
		}{
			"neither source":  {members{"Name": "n"}, invalidRequest},
			"both sources":    {members{"ZipFile": zip, "StorageLocation": place}, invalidRequest},
			"an object store": {members{"StorageLocation": place}, invalidRequest},
			"node version":    {members{"ZipFile": zip, "NodeJsVersion": "12.x"}, invalidRequest},
			"reserved tag":    {members{"ZipFile": zip, "Tags": []members{{"Key": "aws:x", "Value": "v"}}}, "TaggingFailedException"},
			"too many tags":   {members{"ZipFile": zip, "Tags": tags}, "TaggingFailedException"},
			"tag twice":       {members{"ZipFile": zip, "Tags": []members{tags[0], tags[0]}}, "TaggingFailedException"},
		} {
			t.Run(name, func(t *testing.T) { a.call(t, protocol, "CreateScript", c.in).Want(t, 400, c.code) })
		}
		if len(a.fake.made) != 0 {
			t.Errorf("the backend was asked for %d scripts", len(a.fake.made))
		}
		largest := zipMember(protocol, make([]byte, 5_000_000))
		script := a.call(t, protocol, "CreateScript", members{"ZipFile": largest, "Name": "n", "Version": "1", "NodeJsVersion": "24.x",
			"Tags": []members{{"Key": "k", "Value": "v"}}}).OK(t)["Script"].(members)
		if got := a.fake.made[0]; len(got.Zip) != 5_000_000 || got.NodeVersion != "24.x" || got.Tags["k"] != "v" || got.Name != "n" || got.Version != "1" {
			t.Errorf("the backend got %d bytes, %q, %v", len(got.Zip), got.NodeVersion, got.Tags)
		}
		if script["ScriptId"] != "script-0000" || script["ScriptArn"] != "arn:aws:gamelift:us-east-1:000000000000:script/script-0000" ||
			script["SizeOnDisk"] != 5e6 || script["NodeJsVersion"] != "24.x" || script["StorageLocation"].(members)["Key"] != "script-0000/1" {
			t.Errorf("got %v", script)
		}
		again := a.call(t, protocol, "CreateScript", members{"ZipFile": zip}).OK(t)["Script"].(members)
		if again["NodeJsVersion"] != "10.x" || again["Name"] != nil {
			t.Errorf("got %v", again)
		}
	})
}

func TestScriptsAreUpdatedDescribedListedDeleted(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		zip := zipMember(protocol, []byte("PK"))
		for range 3 {
			a.call(t, protocol, "CreateScript", members{"ZipFile": zip, "Name": "n"}).OK(t)
		}
		const arn = "arn:aws:gamelift:us-east-1:123456789012:script/script-0001"
		for _, in := range []members{
			{"ScriptId": "script-0001"}, {"ScriptId": "scrap-1", "Name": "x"}, {"Name": "x"},
			{"ScriptId": "script-0001", "ZipFile": zip, "StorageLocation": members{"Bucket": "b", "Key": "k", "RoleArn": "r"}},
			{"ScriptId": "script-0001", "StorageLocation": members{"Bucket": "b", "Key": "k", "RoleArn": "r"}},
		} {
			a.call(t, protocol, "UpdateScript", in).Want(t, 400, invalidRequest)
		}
		a.call(t, protocol, "UpdateScript", members{"ScriptId": "script-none", "Name": "x"}).Want(t, 400, "NotFoundException")
		updated := a.call(t, protocol, "UpdateScript", members{"ScriptId": arn, "Version": "2", "ZipFile": zip}).OK(t)["Script"].(members)
		if updated["Name"] != "n" || updated["Version"] != "2" || updated["StorageLocation"].(members)["Key"] != "script-0001/2" {
			t.Errorf("got %v", updated)
		}
		if got := a.fake.changed[len(a.fake.changed)-1]; got.ID != "script-0001" || got.Name != "" || string(got.Zip) != "PK" {
			t.Errorf("the backend got %+v", got)
		}
		described := a.call(t, protocol, "DescribeScript", members{"ScriptId": arn}).OK(t)["Script"].(members)
		if !reflect.DeepEqual(described, updated) {
			t.Errorf("described %v, want %v", described, updated)
		}
		first := a.call(t, protocol, "ListScripts", members{"Limit": 2}).OK(t)
		second := a.call(t, protocol, "ListScripts", members{"Limit": 2, "NextToken": first["NextToken"]}).OK(t)
		if len(items(t, first, "Scripts")) != 2 || items(t, second, "Scripts")[0]["ScriptId"] != "script-0002" || second["NextToken"] != nil {
			t.Errorf("pages %v, %v", first, second)
		}
		a.call(t, protocol, "DeleteScript", members{"ScriptId": arn}).OK(t)
		a.call(t, protocol, "DeleteScript", members{"ScriptId": arn}).Want(t, 400, "NotFoundException")
		a.call(t, protocol, "DescribeScript", members{"ScriptId": arn}).Want(t, 400, "NotFoundException")
	})
}

func TestCreateFleetIsChecked(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		a.call(t, protocol, "CreateScript", members{"ZipFile": zipMember(protocol, []byte("PK"))}).OK(t)
		process := members{"LaunchPath": "/local/game/a.js", "ConcurrentExecutions": 2, "Parameters": "-v loggingLevel:DEBUG"}
		good := members{"Name": "f", "ScriptId": "script-0000", "RuntimeConfiguration": members{"ServerProcesses": []members{process}}}
		anywhere := members{"Name": "f", "ComputeType": "ANYWHERE", "Locations": []members{{"Location": "custom-one"}}}
		for name, c := range map[string]struct {
			in   members
			code string
		}{
			"neither":               {members{"Name": "f"}, invalidRequest},
			"both":                  {with(good, "BuildId", "build-1"), invalidRequest},
			"unknown build":         {members{"Name": "f", "BuildId": "build-1"}, "NotFoundException"},
			"unknown script":        {with(good, "ScriptId", "script-1"), "NotFoundException"},
			"other region":          {with(good, "ScriptId", "arn:aws:gamelift:eu-west-1::script/script-0000"), "NotFoundException"},
			"location twice":        {with(good, "Locations", []members{{"Location": "us-east-1"}, {"Location": "us-east-1"}}), invalidRequest},
			"ports":                 {with(good, "EC2InboundPermissions", []members{{"FromPort": 9, "ToPort": 8, "IpRange": "::/0", "Protocol": "UDP"}}), invalidRequest},
			"peering":               {with(good, "PeerVpcId", "vpc-1"), invalidRequest},
			"gateway":               {with(good, "PlayerGatewayMode", "REQUIRED"), invalidRequest},
			"cost":                  {with(good, "AnywhereConfiguration", members{"Cost": "1"}), invalidRequest},
			"tag":                   {with(good, "Tags", []members{{"Key": "AWS:x", "Value": ""}}), "TaggingFailedException"},
			"gateway settings":      {with(good, "PlayerGatewayConfiguration", members{"GameServerIpProtocolSupported": "IPv4"}), invalidRequest},
			"no gateway settings":   {with(good, "PlayerGatewayConfiguration", members{}), invalidRequest},
			"anywhere with script":  {with(anywhere, "ScriptId", "script-0000"), invalidRequest},
			"anywhere with build":   {with(anywhere, "BuildId", "build-1"), invalidRequest},
			"anywhere with a path":  {with(anywhere, "ServerLaunchPath", "/local/game/a.js"), invalidRequest},
			"anywhere as EC2":       {with(anywhere, "EC2InstanceType", "c5.large"), invalidRequest},
			"anywhere with ports":   {with(anywhere, "EC2InboundPermissions", []members{}), invalidRequest},
			"anywhere, no place":    {members{"Name": "f", "ComputeType": "ANYWHERE"}, invalidRequest},
			"anywhere, at home":     {with(anywhere, "Locations", []members{{"Location": "us-east-1"}}), invalidRequest},
			"anywhere, place twice": {with(anywhere, "Locations", []members{{"Location": "custom-one"}, {"Location": "custom-one"}}), invalidRequest},
		} {
			t.Run(name, func(t *testing.T) { a.call(t, protocol, "CreateFleet", c.in).Want(t, 400, c.code) })
		}
		if len(a.fake.founded) != 0 {
			t.Errorf("the backend got %+v", a.fake.founded)
		}
		full := with(good, "Locations", []members{{"Location": "us-east-1"}})
		for k, v := range (members{"Description": "d", "EC2InstanceType": "c5.large", "FleetType": "SPOT", "NewGameSessionProtectionPolicy": "FullProtection",
			"CertificateConfiguration": members{"CertificateType": "GENERATED"}, "LogPaths": []string{"/tmp"}, "MetricGroups": []string{"m"},
			"EC2InboundPermissions": []members{{"FromPort": 9, "ToPort": 9, "IpRange": "::/0", "Protocol": "UDP"}},
			"InstanceRoleArn":       "arn:x", "PlayerGatewayMode": "DISABLED"}) {
			full[k] = v
		}
		out := a.call(t, protocol, "CreateFleet", full).OK(t)
		fleet := out["FleetAttributes"].(members)
		for k, want := range (members{"Status": "NEW", "ScriptId": "script-0000", "InstanceType": "c5.large", "FleetType": "SPOT", "ComputeType": "EC2",
			"NewGameSessionProtectionPolicy": "FullProtection", "CertificateConfiguration": members{"CertificateType": "GENERATED"},
			"LogPaths": []any{"/tmp"}, "MetricGroups": []any{"m"}, "InstanceRoleArn": "arn:x", "Description": "d"}) {
			if !reflect.DeepEqual(fleet[k], want) {
				t.Errorf("%s is %v, want %v", k, fleet[k], want)
			}
		}
		if l := items(t, out, "LocationStates"); len(l) != 1 || l[0]["Location"] != "us-east-1" || l[0]["Status"] != "NEW" {
			t.Errorf("locations %v", l)
		}
		if got := a.fake.founded[0].Runtime.Processes; len(got) != 1 || got[0] != (messages.ServerProcess{LaunchPath: "/local/game/a.js", Parameters: "-v loggingLevel:DEBUG", Concurrent: 2}) {
			t.Errorf("the backend got %+v", got)
		}
	})
}

// server-sdk.md 2.
func TestAnywhereFleetIsCreated(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		out := a.call(t, protocol, "CreateFleet", members{"Name": "f", "ComputeType": "ANYWHERE", "AnywhereConfiguration": members{"Cost": "1.5"},
			"Locations": []members{{"Location": "custom-one"}, {"Location": "custom-two"}}, "RuntimeConfiguration": members{"GameSessionActivationTimeoutSeconds": 60}}).OK(t)
		fleet := out["FleetAttributes"].(members)
		for k, want := range (members{"ComputeType": "ANYWHERE", "AnywhereConfiguration": members{"Cost": "1.5"}, "InstanceType": nil, "FleetType": nil, "ScriptId": nil}) {
			if !reflect.DeepEqual(fleet[k], want) {
				t.Errorf("%s is %v, want %v", k, fleet[k], want)
			}
		}
		if l := items(t, out, "LocationStates"); len(l) != 2 || l[0]["Location"] != "custom-one" || l[1]["Location"] != "custom-two" {
			t.Errorf("locations %v", l)
		}
		if got := a.fake.founded[0]; !got.Anywhere || got.Runtime.ActivationTimeout != time.Minute || len(got.Locations) != 2 {
			t.Errorf("the backend got %+v", got)
		}
	})
}

func TestRuntimeConfigurationIsShownAndReplaced(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		rc := members{"ServerProcesses": []members{{"LaunchPath": "b.js", "ConcurrentExecutions": 3}}, "MaxConcurrentGameSessionActivations": 2}
		a.call(t, protocol, "UpdateRuntimeConfiguration", members{"FleetId": fleetOne}).Want(t, 400, invalidRequest)
		a.call(t, protocol, "UpdateRuntimeConfiguration", members{"FleetId": fleetOne, "RuntimeConfiguration": members{}}).Want(t, 400, invalidRequest)
		a.call(t, protocol, "UpdateRuntimeConfiguration", members{"FleetId": "fleet-none", "RuntimeConfiguration": rc}).Want(t, 400, "NotFoundException")
		if out := a.call(t, protocol, "DescribeRuntimeConfiguration", members{"FleetId": fleetOne}).OK(t); len(out) != 0 {
			t.Errorf("a fleet without a script has %v", out)
		}
		updated := a.call(t, protocol, "UpdateRuntimeConfiguration", members{"FleetId": fleetOne, "RuntimeConfiguration": rc}).OK(t)
		described := a.call(t, protocol, "DescribeRuntimeConfiguration", members{"FleetId": fleetOne}).OK(t)
		want := members{"RuntimeConfiguration": members{
			"ServerProcesses":                     []any{members{"LaunchPath": "b.js", "ConcurrentExecutions": 3.}},
			"MaxConcurrentGameSessionActivations": 2., "GameSessionActivationTimeoutSeconds": 300.,
		}}
		if !reflect.DeepEqual(updated, want) || !reflect.DeepEqual(described, want) {
			t.Errorf("got %v and %v", updated, described)
		}
		a.call(t, protocol, "DescribeRuntimeConfiguration", members{"FleetId": "fleet-none"}).Want(t, 400, "NotFoundException")
		a.call(t, protocol, "DeleteFleet", members{"FleetId": fleetOne}).OK(t)
		a.call(t, protocol, "DeleteFleet", members{"FleetId": fleetOne}).Want(t, 400, "InvalidFleetStatusException")
		a.call(t, protocol, "DeleteFleet", members{"FleetId": "fleet-none"}).Want(t, 400, "NotFoundException")
		if out := a.call(t, protocol, "DescribeRuntimeConfiguration", members{"FleetId": fleetOne}).OK(t); len(out) != 0 {
			t.Errorf("a deleted fleet has %v", out)
		}
	})
}

func TestFleetEventsAreListedNewestFirst(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		for i, code := range []string{"FLEET_CREATED", "FLEET_STATE_ACTIVE", "SERVER_PROCESS_CRASHED"} {
			a.fake.events = append(a.fake.events, messages.FleetEvent{
				ID: "e" + code, Code: code, Message: "why", Time: epochStart.Add(time.Duration(i/2) * time.Second), Count: i + 1})
		}
		list := func(in members) (codes []any) {
			in["FleetId"] = fleetOne
			for _, e := range items(t, a.call(t, protocol, "DescribeFleetEvents", in).OK(t), "Events") {
				codes = append(codes, e["EventCode"])
			}
			return codes
		}
		if got := list(members{}); !reflect.DeepEqual(got, []any{"SERVER_PROCESS_CRASHED", "FLEET_STATE_ACTIVE", "FLEET_CREATED"}) {
			t.Errorf("got %v", got)
		}
		out := a.call(t, protocol, "DescribeFleetEvents", members{"FleetId": fleetOne, "Limit": 1}).OK(t)
		if e := items(t, out, "Events")[0]; e["Count"] != 3. || e["ResourceId"] != fleetOne || e["Message"] != "why" || out["NextToken"] == nil {
			t.Errorf("got %v", out)
		}
		moment := func(d time.Duration) any {
			seconds := float64(epochStart.Add(d).Round(time.Millisecond).UnixMilli()) / 1000
			if protocol == "cbor" {
				return &cbor.Tag{ID: 1, Value: cbor.Float64(seconds)}
			}
			return seconds
		}
		if got := list(members{"StartTime": moment(time.Second)}); len(got) != 1 {
			t.Errorf("from the second on: %v", got)
		}
		if got := list(members{"EndTime": moment(0)}); len(got) != 2 {
			t.Errorf("up to the first moment: %v", got)
		}
		a.call(t, protocol, "DescribeFleetEvents", members{"FleetId": fleetOne, "StartTime": moment(1), "EndTime": moment(-time.Second)}).Want(t, 400, invalidRequest)
		a.call(t, protocol, "DescribeFleetEvents", members{"FleetId": "fleet-none"}).Want(t, 400, "NotFoundException")
	})
}

// ScriptVersion is a member that the vendor's service does not have (see gameSession).
func TestAGameSessionShowsItsScriptVersion(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		id := a.newGameSession(t, 2)
		in := members{"GameSessionId": id}
		if g := items(t, a.call(t, protocol, "DescribeGameSessions", in).OK(t), "GameSessions")[0]; g["ScriptVersion"] != nil || g["GameSessionId"] != id {
			t.Errorf("got %v", g)
		}
		a.fake.games[0].ScriptVersion = "2 (1.0)"
		if g := items(t, a.call(t, protocol, "DescribeGameSessions", in).OK(t), "GameSessions")[0]; g["ScriptVersion"] != "2 (1.0)" || g["Status"] != "ACTIVE" {
			t.Errorf("got %v", g)
		}
	})
}
