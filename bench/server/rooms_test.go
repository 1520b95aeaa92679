package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// fakeAPI answers like the host. The game session becomes ACTIVE after two requests, and player sessions are returned
// in another order.
type fakeAPI struct {
	described int
	reserved  []int // players per call
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		FleetId, GameSessionId    string
		MaximumPlayerSessionCount int
		PlayerIds                 []string
	}
	if r.Header.Get("Content-Type") != "application/x-amz-json-1.1" || json.NewDecoder(r.Body).Decode(&in) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	switch strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "GameLift.") {
	case "CreateGameSession":
		fmt.Fprintf(w, `{"GameSession":{"GameSessionId":"%s/%d"}}`, in.FleetId, in.MaximumPlayerSessionCount)
	case "DescribeGameSessions":
		status := []string{"ACTIVATING", "ACTIVE"}[min(f.described, 1)]
		f.described++
		fmt.Fprintf(w, `{"GameSessions":[{"Status":%q}]}`, status)
	case "CreatePlayerSessions":
		f.reserved = append(f.reserved, len(in.PlayerIds))
		slices.Reverse(in.PlayerIds)
		var out []string
		for _, id := range in.PlayerIds {
			out = append(out, fmt.Sprintf(`{"PlayerId":%q,"PlayerSessionId":"psess-%s"}`, id, id))
		}
		fmt.Fprintf(w, `{"PlayerSessions":[%s]}`, strings.Join(out, ","))
	default:
		http.Error(w, "unknown operation", http.StatusBadRequest)
	}
}

// direct is an http.RoundTripper that calls a handler without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestOpenRoomTroupe(t *testing.T) {
	t.Parallel()
	fake := new(fakeAPI)
	p := &Process{Spec: Spec{Kind: Troupe}, Announce: Announce{API: "fake"}, client: &http.Client{Transport: direct{fake}}}
	room, err := p.Open(t.Context(), 3, 60)
	if err != nil {
		t.Fatal(err)
	}
	if ids := room.IDs; len(ids) != 60 || ids[0] != "psess-p3-0" || ids[59] != "psess-p3-59" {
		t.Errorf("ids %v", room.IDs)
	}
	if !slices.Equal(fake.reserved, []int{25, 25, 10}) {
		t.Errorf("reserved in calls of %v", fake.reserved)
	}
}

func TestOpenRoomBare(t *testing.T) {
	t.Parallel()
	p := &Process{Spec: Spec{Kind: Bare}}
	room, err := p.Open(t.Context(), 2, 2)
	if err != nil || !slices.Equal(room.IDs, []string{"room-2-0", "room-2-1"}) {
		t.Errorf("%v, %v", room, err)
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	got := strings.Join(Spec{Kind: Troupe, Sets: []string{"flush.interval=0"}}.args("f"), " ")
	want := "serve --api-addr 127.0.0.1:0 --ws-addr 127.0.0.1:0 --fast-addr 127.0.0.1:0 --announce f " +
		"--set limits.unauthenticated=0 --set limits.unauthenticatedPerIP=0 --set limits.connectionsPerIPPerSecond=0 " +
		"--set limits.loginFailuresPerIPPerMinute=0 --set dtls.halfOpenPerIP=0 --set wss.addr=127.0.0.1:0 " +
		"--set dtls.addr=127.0.0.1:0 --set kcp.addr=127.0.0.1:0 --set tls.dir=tls --set log.gameSessions.dir=logs --set store.memory=true --set flush.interval=0"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestAMetricIsSummedOverItsLabels(t *testing.T) {
	text := "# HELP a_total x\na_total{kind=\"player x\"} 2\na_total{kind=\"group\"} 3\na_total_more 5\nb 7\n"
	for name, want := range map[string]int64{"a_total": 5, "b": 7, "c": 0} {
		if got, err := sumOf(text, name); got != want || err != nil {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}
