package serviceapi

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/messages"
)

// An SDK upgrade that brings a new operation fails here.
func TestDeclarationsAreTheSDKsOperations(t *testing.T) {
	var want []string
	client := reflect.TypeFor[*gamelift.Client]()
	for i := range client.NumMethod() {
		if m := client.Method(i); m.Type.NumIn() == 4 && m.Type.NumOut() == 2 {
			want = append(want, m.Name)
		}
	}
	var got []string
	letters := regexp.MustCompile(`^[A-Z]{2}( [A-Z]{2})*$`)
	for _, d := range declarations {
		got = append(got, d.name)
		if !letters.MatchString(d.declared) || !declares(d.declared, "IR") {
			t.Errorf("%s: bad row %q", d.name, d.declared)
		}
		for abbreviation := range strings.FieldsSeq(d.declared) {
			if exceptions[abbreviation] == "" {
				t.Errorf("%s: unknown letters %s", d.name, abbreviation)
			}
		}
	}
	slices.Sort(got)
	if len(want) != 120 || !slices.Equal(got, want) {
		t.Errorf("got %d operations, want the SDK's %d", len(got), len(want))
	}
}

// Every refusal has an exception, and no two share one.
func TestEveryErrorCodeHasAnException(t *testing.T) {
	seen := map[string]bool{}
	for code := messages.InvalidRequest; !strings.HasPrefix(code.String(), "invalid("); code++ {
		f := refusalFault(strings.Join(slices.Collect(func(yield func(string) bool) {
			for k := range exceptions {
				if !yield(k) {
					return
				}
			}
		}), " "), messages.Errorf(code, "x"))
		if f.code == "" || seen[f.code] {
			t.Errorf("%s: exception %q", code, f.code)
		}
		seen[f.code] = true
	}
	if f := refusalFault("IR", messages.Errorf(200, "x")); f.status != 500 {
		t.Errorf("unknown code: got %v", f)
	}
}

// Every member of an implemented input has a rule.
func TestRulesAreComplete(t *testing.T) {
	counted := map[string]int{}
	s, err := New(Options{Backend: newFakeBackend()})
	if err != nil {
		t.Fatal(err)
	}
	for name, op := range s.table {
		if op.rules > 0 {
			counted[name] = op.rules
		}
	}
	want := map[string]reflect.Type{
		"CreateGameSession":       reflect.TypeFor[gamelift.CreateGameSessionInput](),
		"DescribeGameSessions":    reflect.TypeFor[gamelift.DescribeGameSessionsInput](),
		"SearchGameSessions":      reflect.TypeFor[gamelift.SearchGameSessionsInput](),
		"CreatePlayerSession":     reflect.TypeFor[gamelift.CreatePlayerSessionInput](),
		"CreatePlayerSessions":    reflect.TypeFor[gamelift.CreatePlayerSessionsInput](),
		"DescribePlayerSessions":  reflect.TypeFor[gamelift.DescribePlayerSessionsInput](),
		"TerminateGameSession":    reflect.TypeFor[gamelift.TerminateGameSessionInput](),
		"GetGameSessionLogUrl":    reflect.TypeFor[gamelift.GetGameSessionLogUrlInput](),
		"ListFleets":              reflect.TypeFor[gamelift.ListFleetsInput](),
		"DescribeFleetAttributes": reflect.TypeFor[gamelift.DescribeFleetAttributesInput](),

		"CreateScript":                 reflect.TypeFor[gamelift.CreateScriptInput](),
		"UpdateScript":                 reflect.TypeFor[gamelift.UpdateScriptInput](),
		"DescribeScript":               reflect.TypeFor[gamelift.DescribeScriptInput](),
		"ListScripts":                  reflect.TypeFor[gamelift.ListScriptsInput](),
		"DeleteScript":                 reflect.TypeFor[gamelift.DeleteScriptInput](),
		"CreateFleet":                  reflect.TypeFor[gamelift.CreateFleetInput](),
		"DeleteFleet":                  reflect.TypeFor[gamelift.DeleteFleetInput](),
		"DescribeFleetEvents":          reflect.TypeFor[gamelift.DescribeFleetEventsInput](),
		"DescribeRuntimeConfiguration": reflect.TypeFor[gamelift.DescribeRuntimeConfigurationInput](),
		"UpdateRuntimeConfiguration":   reflect.TypeFor[gamelift.UpdateRuntimeConfigurationInput](),
	}
	for name, in := range want {
		if got := counted[name]; got != len(membersOf(in)) {
			t.Errorf("%s: %d rules for %d members", name, got, len(membersOf(in)))
		}
	}
	if len(counted) != len(want) {
		t.Errorf("operations with rules: %v", counted)
	}
}

func TestOptions(t *testing.T) {
	b := newFakeBackend()
	for name, o := range map[string]Options{
		"no backend":   {},
		"region":       {Backend: b, Region: "us_east"},
		"account":      {Backend: b, Account: "12"},
		"compute name": {Backend: b, ComputeName: "a b"},
	} {
		if s, err := New(o); err == nil || s != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	a := newAPI(t, func(o *Options) { o.Region, o.Account, o.ComputeName = "eu-west-1", "123456789012", "host-1" })
	out := a.call(t, "json", "DescribeFleetAttributes", members{"FleetIds": []string{fleetOne}}).ok(t)
	if got := items(t, out, "FleetAttributes")[0]["FleetArn"]; got != "arn:aws:gamelift:eu-west-1:123456789012:fleet/fleet-one" {
		t.Errorf("got %v", got)
	}
	game := a.call(t, "json", "CreateGameSession", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1}).ok(t)["GameSession"].(members)
	if game["ComputeName"] != "host-1" {
		t.Errorf("got %v", game)
	}
}
