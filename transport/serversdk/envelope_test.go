package serversdk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

const gs = "arn:aws:gamelift:us-west-2::gamesession/fleet-5d0c1f3e-8a52-4c0e-9a6b-0b6f1f6f1a01/custom-lan/gs-1"

// golden returns the frames of server-sdk.md 20 with a prefix: "> " are requests, "< " responses and pushes.
func golden(t testing.TB, prefix string) (frames []string) {
	t.Helper()
	f, err := os.Open("../../docs/spec/server-sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if frame, ok := strings.CutPrefix(lines.Text(), prefix+"{"); ok {
			frames = append(frames, strings.ReplaceAll("{"+frame, `"GS"`, `"`+gs+`"`))
		}
	}
	return frames
}

func parsed(t *testing.T, frame string) Request {
	t.Helper()
	r, refusal := Parse([]byte(frame))
	if refusal != nil {
		t.Fatalf("%s: %+v", frame, refusal)
	}
	return r
}

// SS-101, SS-122: all requests of the golden frames are read, also with unknown members and null.
func TestGoldenRequestsAreRead(t *testing.T) {
	all := golden(t, "> ")
	seen := map[string]bool{}
	for _, frame := range all {
		r := parsed(t, frame)
		seen[r.Action] = true
		odd := parsed(t, strings.TrimSuffix(frame, "}")+`,"Later":{"a":[1]},"SdkToolName":null,"requestid":7}`)
		if !reflect.DeepEqual(odd, r) {
			t.Errorf("with unknown members: %+v, want %+v", odd, r)
		}
	}
	if len(seen) != len(actions) {
		t.Errorf("%d frames have %d of %d actions", len(all), len(seen), len(actions))
	}
	if r := parsed(t, all[0]); r.ID != "r1" || !reflect.DeepEqual(r.Fields, ActivateServerProcessFields{SdkVersion: "5.6.0", SdkLanguage: "Go", Port: 7777, LogPaths: []string{"/var/log/game"}}) {
		t.Errorf("%+v", r)
	}
	for _, frame := range all {
		if !strings.Contains(frame, "StartMatchBackfill") {
			continue
		}
		want := StartMatchBackfillFields{GameSessionArn: gs, MatchmakingConfigurationArn: "arn:aws:gamelift:us-west-2:000000000000:matchmakingconfiguration/duel",
			Players: []BackfillPlayer{{PlayerId: "p1", Team: "red", LatencyInMs: map[string]int{"custom-lan": 20}, PlayerAttributes: map[string]Attribute{
				"skill": {AttrType: "DOUBLE", N: 12.5}, "modes": {AttrType: "STRING_LIST", SL: []string{"x", "y"}}}}}}
		if got := parsed(t, frame).Fields; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
	}
}

// SS-12 to SS-16, SS-25, SS-29, SS-42, SS-101: responses and pushes are the golden frames.
func TestGoldenFramesAreWritten(t *testing.T) {
	want := golden(t, "< ")
	request := func(action, id string) *Request { return &Request{Action: action, ID: id} }
	const fleet = "fleet-5d0c1f3e-8a52-4c0e-9a6b-0b6f1f6f1a01"
	arena := map[string]string{"map": "arena"}
	bad := func(action, id, text string) []byte {
		return (&Refusal{action, id, StatusBadRequest, text}).Frame()
	}
	got := [][]byte{
		request("ActivateServerProcess", "r1").Answer(nil), request("HeartbeatServerProcess", "r2").Answer(nil),
		Push(PushCreateGameSession, CreateGameSessionPush{GameSessionId: gs, GameSessionName: "lobby", MaximumPlayerSessionCount: 8, IpAddress: "10.1.2.3", Port: 7777, GameProperties: arena}),
		request("ActivateGameSession", "r3").Answer(nil), request("AcceptPlayerSession", "r4").Answer(nil), bad("AcceptPlayerSession", "r5", "Player session not found."),
		request("DescribePlayerSessions", "r6").Answer(DescribePlayerSessionsResult{PlayerSessions: []PlayerSession{{PlayerSessionId: "psess-a1", PlayerId: "p1",
			GameSessionId: gs, FleetId: fleet, IpAddress: "10.1.2.3", Port: 7777, CreationTime: 1767225600000, Status: "ACTIVE"}}}),
		request("UpdatePlayerSessionCreationPolicy", "r7").Answer(nil), request("RemovePlayerSession", "r8").Answer(nil),
		request("StartMatchBackfill", "r9").Answer(StartMatchBackfillResult{"9b2d"}),
		Push(PushUpdateGameSession, UpdateGameSessionPush{"MATCHMAKING_DATA_UPDATED", "9b2d", GameSession{GameSessionId: gs, Name: "lobby", FleetId: fleet,
			MaximumPlayerSessionCount: 8, IpAddress: "10.1.2.3", Port: 7777, GameProperties: arena, MatchmakerData: "{...}", Status: "ACTIVE"}}),
		bad("StopMatchBackfill", "r10", "Ticket is not active."),
		request(GetComputeCertificate, "r11").Answer(GetComputeCertificateResult{ComputeName: "host-01"}),
		request("GetFleetRoleCredentials", "r12").Answer(GetFleetRoleCredentialsResult{}),
		Push(PushRefreshConnection, RefreshConnectionPush{"wss://sdk.example.test", "TOKEN2"}), Push(PushTerminateProcess, TerminateProcessPush{1767226200000}),
		request(TerminateServerProcess, "r13").Answer(nil),
	}
	if len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range got {
		var a, b map[string]any
		if json.Unmarshal(got[i], &a) != nil || json.Unmarshal([]byte(want[i]), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
	for _, frame := range [][]byte{Push(PushCreateGameSession, CreateGameSessionPush{}), request("DescribePlayerSessions", "r").Answer(DescribePlayerSessionsResult{})} {
		if text := string(frame); strings.Contains(text, "null") || !strings.Contains(text, `"GameProperties":{}`) && !strings.Contains(text, `"PlayerSessions":[]`) { // SS-132
			t.Error(text)
		}
	}
}

func latencies(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"l%d":1`, i)
	}
	return strings.Join(all, ",")
}

// SS-39, SS-123: what is refused has the action and the id that could be read.
func TestBadRequests(t *testing.T) {
	with := func(action, fields string) string { return `{"Action":"` + action + `","RequestId":"r"` + fields + `}` }
	const session = `,"GameSessionId":"gs-1"`
	const backfill = `,"GameSessionArn":"gs","MatchmakingConfigurationArn":"arn:aws:gamelift:us-west-2::matchmakingconfiguration/d"`
	for frame, want := range map[string]string{
		``: "not a JSON object", `[]`: "not a JSON object", `{`: "not a JSON object", `{"Action":7}`: "not a JSON object", `null`: "no Action", `{"RequestId":"r"}`: "no Action",
		`{"Action":"ActivateGameSession"}`: "no RequestId", with("Fly", ""): "Unknown action", with("activateServerProcess", ""): "Unknown action",
		with(strings.Repeat("x", 129), ""):                                                                                        "at most 128 characters",
		with("ActivateServerProcess", ""):                                                                                         "Port must be 1 to 60000",
		with("ActivateServerProcess", `,"Port":60001`):                                                                            "Port must be",
		with("ActivateServerProcess", `,"Port":"1"`):                                                                              "Port has a wrong type",
		with("ActivateServerProcess", `,"Port":1.5`):                                                                              "Port has a wrong type",
		with("ActivateServerProcess", `,"Port":1,"LogPaths":["`+strings.Repeat("x", 1025)+`"]`):                                   "at most 1024",
		with("ActivateServerProcess", `,"Port":1,"LogPaths":[`+strings.Repeat(`"",`, 10)+`""]`):                                   "at most 10 paths",
		with("HeartbeatServerProcess", ``):                                                                                        "HealthStatus is required",
		with("HeartbeatServerProcess", `,"HealthStatus":"true"`):                                                                  "HealthStatus has a wrong type",
		with("ActivateGameSession", `,"GameSessionId":"a_b"`):                                                                     "GameSessionId",
		with("UpdatePlayerSessionCreationPolicy", session+`,"PlayerSessionPolicy":"NOT_SET"`):                                     "ACCEPT_ALL or DENY_ALL",
		with("AcceptPlayerSession", session+`,"PlayerSessionId":""`):                                                              "PlayerSessionId",
		with("DescribePlayerSessions", ``):                                                                                        "exactly one",
		with("DescribePlayerSessions", session+`,"PlayerId":"p"`):                                                                 "exactly one",
		with("DescribePlayerSessions", session+`,"Limit":1025`):                                                                   "Limit",
		with("DescribePlayerSessions", session+`,"Limit":-1`):                                                                     "Limit",
		with("DescribePlayerSessions", session+`,"PlayerSessionStatusFilter":"active"`):                                           "PlayerSessionStatusFilter",
		with("StartMatchBackfill", backfill+`,"Players":[]`):                                                                      "1 to 200 players",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p"}]`):                                                      "Players[0]: Team",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p","Team":"t","PlayerAttributes":{"a":{"AttrType":"X"}}}]`): "AttrType",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p","Team":"t","LatencyInMs":{"l":0}}]`):                     "latency",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p","Team":"t"},{"PlayerId":"p","Team":"t"}]`):               "Players[1]: the player is there twice",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p","Team":"t","PlayerAttributes":{"a":{"AttrType":"STRING","S":"`+strings.Repeat("x", 1025)+`"}}}]`):          "at most 1024 characters",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p","Team":"t","PlayerAttributes":{"`+strings.Repeat("x", 1025)+`":{"AttrType":"NONE"}}}]`):                    "at most 1024 characters",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p","Team":"t","PlayerAttributes":{"a":{"AttrType":"STRING_LIST","SL":[`+strings.Repeat(`"",`, 100)+`""]}}}]`): "at most 100 texts",
		with("StartMatchBackfill", backfill+`,"Players":[{"PlayerId":"p","Team":"t","LatencyInMs":{`+latencies(101)+`}}]`):                                                          "at most 100 locations",
		with("StopMatchBackfill", backfill): "TicketId",
		with("StopMatchBackfill", `,"TicketId":"t","GameSessionArn":"gs","MatchmakingConfigurationArn":"d"`): "MatchmakingConfigurationArn",
		with("GetFleetRoleCredentials", ``): "RoleArn",
	} {
		r, refusal := Parse([]byte(frame))
		if refusal == nil || refusal.Status != StatusBadRequest || !strings.Contains(refusal.Text, want) {
			t.Errorf("%s: %+v, %+v, want %q", frame, r, refusal, want)
			continue
		}
		if strings.Contains(frame, `"RequestId":"r"`) && !strings.Contains(want, "128") && refusal.ID != "r" {
			t.Errorf("%s: the refusal has the id %q", frame, refusal.ID)
		}
	}
	if _, refusal := Parse(make([]byte, FrameMax+1)); refusal == nil || !strings.Contains(refusal.Text, "1048576 bytes") {
		t.Error("a request over 1 MB is read")
	}
	if f := parsed(t, with("DescribePlayerSessions", session+`,"Limit":1024`)).Fields.(DescribePlayerSessionsFields); f.Limit != PageMax {
		t.Errorf("a page has %d", f.Limit)
	}
}

// Any frame is read or refused, and each answer is JSON with the action and id of its request.
func FuzzParse(f *testing.F) {
	for _, frame := range golden(f, "> ") {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, refusal := Parse(frame)
		answer := (&r).Answer(r.Fields)
		if refusal != nil {
			answer = refusal.Frame()
		}
		var head struct{ Action, RequestId string } //nolint:revive // the names on the wire
		if err := json.Unmarshal(answer, &head); err != nil {
			t.Fatalf("%q: the answer %q: %v", frame, answer, err)
		}
		if refusal == nil && (head.Action != r.Action || r.ID == "") {
			t.Errorf("%q: the answer is %q", frame, answer)
		}
	})
}
