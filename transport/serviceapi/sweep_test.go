package serviceapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go/encoding/cbor"
)

// timeMember returns a time encoded for a protocol.
func timeMember(protocol string, seconds float64) any {
	if protocol == "cbor" {
		return &cbor.Tag{ID: 1, Value: cbor.Float64(seconds)}
	}
	return seconds
}

// stricter lists members that the host checks by its own rule, before or instead of the model's. The error's
// text differs then.
var stricter = map[string]string{
	"DescribePlayerSessions.PlayerSessionStatusFilter": "one of",
}

// For every operation that the host offers, every maximum, minimum, pattern, enumeration and type of the
// service model is enforced. The error is the modeled exception and names the member, whatever the rest of
// the input is. API-20.
func TestEveryLimitOfTheModel(t *testing.T) {
	a := newAPI(t)
	m := readModel(t)
	rules := ruleCounts(a.Server)
	tried := 0
	inBoth(t, func(t *testing.T, protocol string) {
		for name, parts := range m.operations {
			if rules[name] == 0 {
				continue // the operation is unavailable
			}
			base := m.required(t, protocol, parts)
			for _, p := range parts {
				if p.required {
					in := with(base, p.name, nil)
					r := a.call(t, protocol, name, in)
					if text, _ := r.Body["message"].(string); r.Code() != invalidRequest || !strings.HasPrefix(text, p.name+" is required") && !strings.Contains(text, "is required") {
						t.Errorf("%s without %s: got %d %s %q", name, p.name, r.Status, r.Code(), text)
					}
				}
				for _, b := range m.wrong(t, protocol, p.kind) {
					tried++
					r := a.call(t, protocol, name, with(base, p.name, b.value))
					text, _ := r.Body["message"].(string)
					about := strings.HasPrefix(text, p.name+b.path) || b.code == serialization
					if want := stricter[name+"."+p.name]; want != "" && strings.Contains(text, want) {
						about = true
					}
					if r.Status != 400 || r.Code() != b.code || !about {
						t.Errorf("%s.%s%s %s (%.40v): got %d %s %q, want %s", name, p.name, b.path, b.what, b.value, r.Status, r.Code(), text, b.code)
					}
				}
			}
		}
	})
	t.Logf("%d wrong values were refused", tried)
}

// ruleCounts returns the number of members with a rule for each operation. It is 0 for an unavailable
// operation.
func ruleCounts(s *Server) map[string]int {
	counts := map[string]int{}
	for _, o := range s.operations() {
		counts[o.Name] = o.Rules
	}
	return counts
}

// offered are operations that must have a handler or return an empty list (service-api.md 2.1). Other
// operations may have one, too.
var offered = strings.Fields(`
	CreateGameSession DescribeGameSessions DescribeGameSessionDetails UpdateGameSession SearchGameSessions TerminateGameSession GetGameSessionLogUrl
	CreatePlayerSession CreatePlayerSessions DescribePlayerSessions
	StartGameSessionPlacement DescribeGameSessionPlacement StopGameSessionPlacement
	CreateGameSessionQueue DescribeGameSessionQueues UpdateGameSessionQueue DeleteGameSessionQueue
	CreateScript UpdateScript DescribeScript ListScripts DeleteScript
	CreateFleet DescribeFleetAttributes UpdateFleetAttributes DeleteFleet ListFleets DescribeFleetUtilization DescribeFleetCapacity UpdateFleetCapacity
	DescribeFleetEvents DescribeFleetPortSettings UpdateFleetPortSettings DescribeRuntimeConfiguration UpdateRuntimeConfiguration DescribeInstances
	CreateAlias DescribeAlias UpdateAlias DeleteAlias ListAliases ResolveAlias
	TagResource UntagResource ListTagsForResource CreateFleetLocations DeleteFleetLocations DescribeFleetLocationAttributes
	DescribeFleetLocationCapacity DescribeFleetLocationUtilization
	StartMatchmaking DescribeMatchmaking StopMatchmaking AcceptMatch
	CreateMatchmakingConfiguration DescribeMatchmakingConfigurations UpdateMatchmakingConfiguration DeleteMatchmakingConfiguration
	CreateMatchmakingRuleSet DescribeMatchmakingRuleSets DeleteMatchmakingRuleSet ValidateMatchmakingRuleSet
	CreateLocation DeleteLocation ListLocations RegisterCompute DeregisterCompute DescribeCompute ListCompute GetComputeAuthToken CreateBuild DescribeBuild UpdateBuild ListBuilds DeleteBuild RequestUploadCredentials DescribeScalingPolicies`)

// API-63.
func TestOperationsThatAreNotOfferedAreStubs(t *testing.T) {
	a := newAPI(t)
	for _, name := range offered {
		if !slices.Contains(Operations(), name) {
			t.Errorf("%s is no operation", name)
		}
	}
	inBoth(t, func(t *testing.T, protocol string) {
		for _, d := range a.operations() {
			r := a.call(t, protocol, d.Name, members{})
			text, _ := r.Body["message"].(string)
			answeredAsStub := strings.Contains(text, "is not available on this host")
			switch {
			case r.Status >= 500:
				t.Errorf("%s: got %d %v", d.Name, r.Status, r.Body)
			case slices.Contains(emptyLists, d.Name):
				out := r.OK(t)
				for member := range out {
					if len(out) != 1 || len(items(t, out, member)) != 0 {
						t.Errorf("%s: got %v", d.Name, out)
					}
				}
			case d.Rules > 0:
				if answeredAsStub {
					t.Errorf("%s is not offered", d.Name)
				}
			case slices.Contains(offered, d.Name):
				t.Errorf("%s is not offered", d.Name)
			case declares(d.Declared, "UR"):
				if r.Code() != exceptions["UR"] || !strings.Contains(text, d.Name) {
					t.Errorf("%s: got %v, want UR", d.Name, r.Body)
				}
			case r.Code() != invalidRequest || !strings.Contains(text, d.Name):
				t.Errorf("%s: got %v, want IR", d.Name, r.Body)
			}
		}
	})
}
