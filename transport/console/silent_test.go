package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

// hanging is a fake host with two game sessions. One of them never responds, because its script does not
// return.
type hanging struct {
	messages.Doer
	kicked []messages.GameSessionID
}

func (b *hanging) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case messages.FindGameSessions:
		return messages.FoundGameSessions{GameSessions: []*messages.GameSession{{ID: "hangs"}, {ID: "runs"}}}, nil
	case messages.GameSessionQuery:
		return &messages.GameSession{ID: q.ID, Status: messages.GameSessionActive}, nil
	case messages.PlayerSessionQuery:
		return b.playerSessions(ctx, q)
	case messages.InspectGameSession:
		return b.inspectGameSession(ctx, q.ID)
	case messages.KickPlayer:
		return b.kickPlayer(ctx, q)
	}
	return b.Doer.Do(ctx, q)
}

func (b *hanging) playerSessions(_ context.Context, q messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	return []*messages.PlayerSession{{ID: "psess-1", PlayerID: "eve", GameSessionID: "hangs", Status: messages.PlayerSessionActive},
		{ID: "psess-2", PlayerID: "eve", GameSessionID: "runs", Status: messages.PlayerSessionActive}}, nil
}

func (b *hanging) inspectGameSession(ctx context.Context, id messages.GameSessionID) (*messages.GameSessionState, error) {
	if strings.HasPrefix(string(id), "hangs") {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &messages.GameSessionState{Players: []messages.PlayerState{{ID: "psess-2", PlayerID: "eve", InGame: true}}}, nil
}

func (b *hanging) kickPlayer(ctx context.Context, q messages.KickPlayer) (int, error) {
	b.kicked = append(b.kicked, q.GameSession)
	if q.GameSession == "hangs" {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return 1, nil
}

// A game session whose script does not return is reported as silent after two seconds. It does not hide the
// others or block requests.
func TestOneSilentGameSessionHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, false)
		b := new(hanging)
		w.console.o.Backend = b
		for target, want := range map[string]string{
			"connections":           `"matched":1,"silent":1`,
			"top":                   `"gameSessionsSilent":1`,
			"top?sort=queue":        `"silent":true`,
			"game-session?id=hangs": `"silent":true`,
			"game-session?id=runs":  `"silent":false`,
			"players?player=eve":    `"matched":2`,
		} {
			began := time.Now()
			a := w.want(200, "", "GET", "/admin/v1/"+target, "")
			if took := time.Since(began); !strings.Contains(a.Body.String(), want) || took > answerMax {
				t.Errorf("%s: after %v: %s", target, took, a.Body)
			}
		}
		for _, target := range []string{"players/kick?player=eve", "bans?player=eve&seconds=60"} {
			b.kicked = nil
			a := w.want(200, "", "POST", "/admin/v1/"+target, "", csrfHeader, machine)
			if !strings.Contains(a.Body.String(), `"kicked":1,"silent":1`) || len(b.kicked) != 2 {
				t.Errorf("%s: %v: %s", target, b.kicked, a.Body)
			}
		}
		if a := w.want(200, "", "POST", "/admin/v1/players/kick?player=eve&gameSession=hangs", "", csrfHeader, machine); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), `"kicked":0,"silent":1`) {
			t.Error(a.Body)
		}
	})
}

// twoNodes is a cluster of this node and another one.
type twoNodes struct {
	Cluster
	local messages.Doer
	other *Console
}

func (n twoNodes) Name() string         { return "this" }
func (n twoNodes) Local() messages.Doer { return n.local }
func (n twoNodes) Nodes() []Node {
	return []Node{{Name: "other", State: "live"}, {Name: "this", State: "live"}}
}

func (n twoNodes) Ask(ctx context.Context, _ string, q coord.AskConsole) (coord.ConsoleAnswer, error) {
	a := n.other.Answer(ctx, q)
	return a, ctx.Err()
}

// hungNode is the other node.
type hungNode struct {
	Cluster
	first bool // see manyHang
}

func (hungNode) Name() string           { return "other" }
func (n hungNode) Local() messages.Doer { return &manyHang{first: n.first} }

// manyHang is a fake host with more game sessions that never respond than are asked at the same time.
type manyHang struct {
	hanging
	first bool // they are listed before the one that responds
}

func (b *manyHang) Do(ctx context.Context, q messages.Request) (any, error) {
	if _, is := q.(messages.FindGameSessions); is {
		found := messages.FoundGameSessions{GameSessions: []*messages.GameSession{{ID: "runs"}}}
		for i := range 2*crowdAsked + 1 {
			found.GameSessions = append(found.GameSessions, &messages.GameSession{ID: messages.GameSessionID(fmt.Sprint("hangs-", i))})
		}
		if b.first {
			slices.Reverse(found.GameSessions)
		}
		return found, nil
	}
	return b.hanging.Do(ctx, q)
}

// Game sessions that do not respond do not hide the node that runs them.
func TestSilentGameSessionsHideNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for target, want := range map[string]string{"connections": `"matched":2,"silent":10,"silentNodes":[]`, "top": `"gameSessionsSilent":10`} {
			here, there := newWorld(t, false), newWorld(t, false)
			there.console.o.Cluster = hungNode{}
			here.console.o.Cluster = twoNodes{local: new(hanging), other: there.console}
			a := here.want(200, "", "GET", "/admin/v1/"+target, "")
			if !strings.Contains(a.Body.String(), want) || !strings.Contains(a.Body.String(), `"silentNodes":[]`) {
				t.Errorf("%s: %s", target, a.Body)
			}
		}
	})
}

// Game sessions that do not respond are asked last next time, so that they do not hide others again. A list for which
// some game sessions were not asked in time is not kept.
func TestSilentGameSessionsAreAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := newWorld(t, false), newWorld(t, false)
		there.console.o.Cluster = hungNode{first: true}
		here.console.o.Cluster = twoNodes{local: new(hanging), other: there.console}
		for _, want := range []string{`"matched":1,"silent":11`, `"matched":2,"silent":10`, `"matched":2,"silent":10`} {
			a := here.want(200, "", "GET", "/admin/v1/connections", "")
			if !strings.Contains(a.Body.String(), want) {
				t.Errorf("%s, want %s", a.Body, want)
			}
		}
	})
}
