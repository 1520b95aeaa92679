package serviceapi

import (
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"pgregory.net/rapid"
)

func self(p position) position { return p }

// Items are added and removed between the pages. Each item that exists throughout appears exactly once, and
// tokens stay short.
func TestPagesHaveEveryPersistentItemOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gen := rapid.Custom(func(rt *rapid.T) position {
			return position{rapid.Int64Range(-3, 3).Draw(rt, "created"), rapid.StringN(1, 2, -1).Draw(rt, "id")}
		})
		staying := rapid.SliceOfNDistinct(gen, 0, 30, self).Draw(rt, "staying")
		order := rapid.SampledFrom([]func(a, b position) int{oldestFirst, latestFirst}).Draw(rt, "order")
		in := &gamelift.ListFleetsInput{Limit: aws.Int32(rapid.Int32Range(1, 40).Draw(rt, "limit"))}
		p := newPager(nil)
		var seen []position
		for {
			transient := rapid.SliceOfN(gen, 0, 5).Draw(rt, "transient")
			all := slices.Concat(staying, slices.DeleteFunc(transient, func(v position) bool { return slices.Contains(staying, v) }))
			page, token, err := cut(p, paging{operation: "X", input: in, limit: in.Limit, token: in.NextToken, max: 10, order: order}, all, self)
			if err != nil {
				rt.Fatal(err)
			}
			if len(page) > 10 || len(page) > int(*in.Limit) {
				rt.Fatalf("page of %d", len(page))
			}
			seen = append(seen, slices.DeleteFunc(page, func(v position) bool { return !slices.Contains(staying, v) })...)
			if token == nil {
				break
			}
			if *token == "" || len(*token) > 1024 {
				rt.Fatalf("token of %d characters", len(*token))
			}
			in.NextToken = token
		}
		want := slices.SortedFunc(slices.Values(staying), order)
		if !slices.Equal(seen, want) {
			rt.Fatalf("saw %v, want %v", seen, want)
		}
	})
}

func TestTokensAreBound(t *testing.T) {
	p := newPager(nil)
	bound, err := filterHash(&gamelift.ListFleetsInput{ScriptId: aws.String("script-1"), Limit: aws.Int32(3)})
	if err != nil {
		t.Fatal(err)
	}
	same, _ := filterHash(&gamelift.ListFleetsInput{ScriptId: aws.String("script-1"), NextToken: aws.String("x")})
	other, _ := filterHash(&gamelift.ListFleetsInput{ScriptId: aws.String("script-2")})
	if bound != same || bound == other {
		t.Error("the filter is not what it should be")
	}
	last := position{-7, "arn:aws:gamelift:us-east-1::gamesession/fleet-1/x"}
	token := p.seal(last, "X", bound)
	if got, ok := p.open(token, "X", bound); !ok || got != last {
		t.Errorf("got %v, %v", got, ok)
	}
	for i := range len(token) {
		for _, c := range []byte("Ab0") {
			if token[i] == c {
				continue
			}
			if _, ok := p.open(token[:i]+string(c)+token[i+1:], "X", bound); ok {
				t.Errorf("tampered at %d: accepted", i)
			}
		}
		if _, ok := p.open(token[:i], "X", bound); ok {
			t.Errorf("cut at %d: accepted", i)
		}
	}
	for name, ok := range map[string]bool{
		"operation": second(p.open(token, "Y", bound)), "filter": second(p.open(token, "X", other)), "key": second(newPager(nil).open(token, "X", bound)),
		"line end": second(p.open(token+"\n", "X", bound)), "longer": second(p.open(token+"AA", "X", bound)),
	} {
		if ok {
			t.Errorf("other %s: accepted", name)
		}
	}
}

func second(_ position, ok bool) bool { return ok }

// A page token is valid at another server if, and only if, that server has the same key. API-22.
func TestTokensOutliveTheServer(t *testing.T) {
	serverWith := func(key []byte) *api { return newAPI(t, func(o *Options) { o.PageKey = key }) }
	key := []byte("0123456789abcdef0123456789abcdef")
	in := members{"Limit": 1}
	in["NextToken"] = serverWith(key).call(t, "json", "ListFleets", in).OK(t)["NextToken"]
	if ids := serverWith(key).call(t, "json", "ListFleets", in).OK(t)["FleetIds"].([]any); len(ids) != 1 || ids[0] == fleetOne {
		t.Errorf("got %v", ids)
	}
	for _, other := range [][]byte{nil, []byte("123456789abcdef0123456789abcdef0")} {
		serverWith(other).call(t, "json", "ListFleets", in).Want(t, http.StatusBadRequest, invalidRequest)
	}
	if _, err := New(Options{Backend: newFakeBackend(), Region: defaultRegion, Account: "000000000000", PageKey: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
}
