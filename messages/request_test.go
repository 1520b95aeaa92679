package messages

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Requests and answers may come from another machine, so no type in this package may contain a function or a channel.
func TestMessagesAreValues(t *testing.T) {
	files := token.NewFileSet()
	all, err := parser.ParseDir(files, ".", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	structs := 0
	for name, file := range all["messages"].Files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			structs++
			for _, f := range s.Fields.List {
				ast.Inspect(f.Type, func(n ast.Node) bool {
					switch n.(type) {
					case *ast.FuncType, *ast.ChanType:
						t.Errorf("%s: a field is no value", files.Position(n.Pos()))
					}
					return true
				})
			}
			return true
		})
	}
	if structs < 80 {
		t.Errorf("only %d types were found", structs)
	}
}

type stub func(Request) (any, error)

func (s stub) Do(_ context.Context, q Request) (any, error) { return s(q) }

func TestDoGivesTheAnswerItsType(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		answer any
		err    error
		want   int
		fails  bool
	}{
		{answer: 3, want: 3}, {answer: nil}, {answer: nil, err: broken, fails: true}, {answer: "3", fails: true},
	} {
		got, err := Do(t.Context(), stub(func(Request) (any, error) { return c.answer, c.err }), KickPlayer{})
		if got != c.want || (err != nil) != c.fails || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%v, %v: got %d, %v", c.answer, c.err, got, err)
		}
	}
}

func TestRoutes(t *testing.T) {
	for want, all := range map[Route][]Request{
		RouteCatalog:    {CreateFleet{}, UpdateTags{Resource: Resource{Kind: "fleet"}}},
		RoutePlacements: {StartPlacement{}, TagQuery{Resource: Resource{Kind: "gamesessionqueue"}}},
		RouteMatchmaking: {StartMatchmaking{}, TagQuery{Resource: Resource{Kind: "matchmakingruleset"}},
			UpdateTags{Resource: Resource{Kind: "matchmakingconfiguration"}}},
		RouteGameSession: {UpdateGameSession{}, GameSessionQuery{}, PlayerSessionQuery{GameSessionID: "g"}},
		RouteEveryHost:   {FleetUseQuery{}, FindGameSessions{}, PlayerSessionQuery{PlayerID: "p"}},
		RouteThisHost:    {Drain{}},
	} {
		for _, q := range all {
			if got := q.Route(); got != want {
				t.Errorf("%T goes to %d, want %d", q, got, want)
			}
		}
	}
}
