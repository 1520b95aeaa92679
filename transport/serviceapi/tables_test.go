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

// This test fails when an SDK upgrade adds an operation.
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
	for _, d := range new(Server).operations() {
		got = append(got, d.Name)
		if !letters.MatchString(d.Declared) || !declares(d.Declared, "IR") {
			t.Errorf("%s: bad row %q", d.Name, d.Declared)
		}
		for abbreviation := range strings.FieldsSeq(d.Declared) {
			if exceptions[abbreviation] == "" {
				t.Errorf("%s: unknown letters %s", d.Name, abbreviation)
			}
		}
	}
	slices.Sort(got)
	if len(want) != 120 || !slices.Equal(got, want) {
		t.Errorf("got %d operations, want the SDK's %d", len(got), len(want))
	}
}

// Each error code maps to a different exception.
func TestEveryErrorCodeHasAnException(t *testing.T) {
	seen := map[string]bool{}
	for code := messages.InvalidRequest; !strings.HasPrefix(code.String(), "invalid("); code++ {
		f := fault(strings.Join(slices.Collect(func(yield func(string) bool) {
			for k := range exceptions {
				if !yield(k) {
					return
				}
			}
		}), " "), messages.Errorf(code, "x"))
		if f.Code == "" || seen[f.Code] {
			t.Errorf("%s: exception %q", code, f.Code)
		}
		seen[f.Code] = true
	}
	if f := fault("IR", messages.Errorf(200, "x")); f.Status != 500 {
		t.Errorf("unknown code: got %v", f)
	}
}

// Every member of an offered operation's input has a rule. The test fails when an SDK upgrade adds a member.
func TestRulesAreComplete(t *testing.T) {
	client, inModel := reflect.TypeFor[*gamelift.Client](), readModel(t).operations
	for name, rules := range ruleCounts(new(Server)) {
		method, ok := client.MethodByName(name)
		if !ok {
			t.Errorf("the SDK has no %s", name)
			continue
		}
		members := 0
		for f := range method.Type.In(2).Elem().Fields() {
			if f.IsExported() {
				members++
			}
		}
		if known, ok := inModel[name]; rules > 0 && (rules != members || ok && rules != len(known)) {
			t.Errorf("%s: %d rules for %d members, %d in the model", name, rules, members, len(known))
		}
	}
}

func TestOptions(t *testing.T) {
	b := newFakeBackend()
	for name, o := range map[string]Options{
		"no backend": {Region: defaultRegion, Account: "000000000000"},
		"region":     {Backend: b, Region: "us_east", Account: "000000000000"},
		"account":    {Backend: b, Region: defaultRegion, Account: "12"},
	} {
		if s, err := New(o); err == nil || s != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	a := newAPI(t, func(o *Options) { o.Region, o.Account = "eu-west-1", "123456789012" })
	out := a.call(t, "json", "DescribeFleetAttributes", members{"FleetIds": []string{fleetOne}}).OK(t)
	if got := items(t, out, "FleetAttributes")[0]["FleetArn"]; got != "arn:aws:gamelift:eu-west-1:123456789012:fleet/fleet-one" {
		t.Errorf("got %v", got)
	}
}
