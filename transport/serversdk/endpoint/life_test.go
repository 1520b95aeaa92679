package endpoint_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/internal/rfc6455"
	"troupe/transport/transporttest/stock"
)

func code(t *testing.T, err error, want messages.ErrorCode) {
	t.Helper()
	if !errors.Is(err, &messages.Error{Code: want}) {
		t.Errorf("%v, not %v", err, want)
	}
}

func (w *world) full() {
	w.t.Helper()
	_, err := messages.Do(w.t.Context(), w.Host.Host.Doer(), messages.CreateGameSession{FleetID: w.fleet, MaxPlayers: 2})
	code(w.t, err, messages.FleetCapacityExceeded)
}

// SS-17, SS-19, SS-107, SS-201, SS-202: a process is free after its first heartbeat, and gets one game session.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p")
		w.full()
		p.call(200, "ActivateServerProcess", port(1))
		w.full()
		p.call(200, "ActivateServerProcess", port(1)) // SS-116
		p.call(409, "ActivateServerProcess", port(2))
		p.beat(true)
		at := time.Now()
		g := w.create(2)
		w.full()
		p.pushed("CreateGameSession", nil)
		if d := time.Since(at); d != 200*time.Millisecond {
			t.Errorf("pushed after %v", d)
		}
		p.call(404, "ActivateGameSession", of(g.ID+"x")) // SS-117
		q := w.connect("q")
		q.call(409, "ActivateServerProcess", port(1)) // D-410
		q.ready(2)
		time.Sleep(time.Second)
		at = time.Now()
		w.create(2)
		q.pushed("CreateGameSession", nil)
		if d := time.Since(at); d != 0 {
			t.Errorf("pushed after %v", d)
		}
		q.call(404, "ActivateGameSession", of(g.ID))
		q.call(404, "AcceptPlayerSession", seat(g.ID, "psess-1"))
		q.call(404, "UpdatePlayerSessionCreationPolicy", of(g.ID)+`,"PlayerSessionPolicy":"DENY_ALL"`)
	})
}

// SS-118: a game session that is not activated in time ends, and so does its process.
func TestActivationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		g := w.create(2)
		p.pushed("CreateGameSession", nil)
		for range 4 {
			time.Sleep(time.Minute)
			p.beat(true)
		}
		time.Sleep(time.Minute)
		var end struct{ TerminationTime int64 }
		p.pushed("TerminateProcess", &end)
		if left := time.UnixMilli(end.TerminationTime).Sub(time.Now()); left < 298*time.Second || left > 300*time.Second { // SS-29
			t.Error(left)
		}
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s)
		}
		p.call(400, "ActivateGameSession", of(g.ID))
		w.event("GAME_SESSION_ACTIVATION_TIMEOUT")
	})
}

// event checks that the fleet has exactly one event of a code.
func (w *world) event(code string) {
	w.t.Helper()
	n := 0
	all := ask(w, messages.FleetEventQuery{ID: w.fleet})
	for _, e := range all {
		if e.Code == code {
			n++
		}
	}
	if n != 1 {
		w.t.Errorf("%d events %s in %+v", n, code, all)
	}
}

// SS-31, SS-32, SS-108 to SS-110, SS-135: health.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		g := w.hosts(p, 2)
		for _, healthy := range []bool{false, false, true, false, false, true} { // SS-109
			time.Sleep(time.Minute)
			p.beat(healthy)
		}
		p.silent()
		for range 9 { // SS-135
			p.beat(false)
		}
		p.silent()
		for range 2 { // SS-108
			time.Sleep(30 * time.Second)
			p.beat(false)
		}
		var end struct{ TerminationTime int64 }
		p.pushed("TerminateProcess", &end)
		if left := time.UnixMilli(end.TerminationTime).Sub(time.Now()); left < 299*time.Second || left > 300*time.Second {
			t.Error(left)
		}
		synctest.Wait()
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminating {
			t.Error(s)
		}
		for range 4 {
			time.Sleep(time.Minute)
			p.beat(false)
		}
		time.Sleep(61 * time.Second)
		if c := p.ends(); c != 0 {
			t.Error(c)
		}
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s)
		}
		w.event("SERVER_PROCESS_TERMINATED_UNHEALTHY")

		p = w.connect("q").ready(2) // SS-110
		g = w.hosts(p, 3)
		ids := w.players(g.ID, "x", "y")
		p.call(200, "AcceptPlayerSession", seat(g.ID, ids[0]))
		time.Sleep(180 * time.Second)
		ids = append(ids, w.players(g.ID, "z")[0])
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s)
		}
		for i, want := range []messages.PlayerSessionStatus{messages.PlayerSessionCompleted, messages.PlayerSessionTimedOut, messages.PlayerSessionCompleted} {
			if s := w.player(ids[i]); s != want {
				t.Errorf("%d: %v", i, s)
			}
		}
		w.event("SERVER_PROCESS_CRASHED")
	})
}

// SS-21, SS-24, SS-113: reservations and the policy.
func TestReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		g := w.hosts(p, 3)
		ids := w.players(g.ID, "a", "b")
		time.Sleep(30 * time.Second)
		late := w.players(g.ID, "c")[0]
		p.call(200, "UpdatePlayerSessionCreationPolicy", of(g.ID)+`,"PlayerSessionPolicy":"DENY_ALL"`)
		p.call(400, "UpdatePlayerSessionCreationPolicy", of(g.ID)+`,"PlayerSessionPolicy":"MAYBE"`)
		_, err := messages.Do(t.Context(), w.Host.Host.Doer(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "d"}}})
		code(t, err, messages.InvalidGameSessionStatus)
		p.call(200, "AcceptPlayerSession", seat(g.ID, ids[0]))
		time.Sleep(31 * time.Second)
		p.call(400, "AcceptPlayerSession", seat(g.ID, ids[1]))
		if s := w.player(ids[1]); s != messages.PlayerSessionTimedOut {
			t.Error(s)
		}
		p.call(200, "AcceptPlayerSession", seat(g.ID, late))
		if g := w.game(g.ID); g.CurrentPlayers != 2 || g.AcceptsPlayers {
			t.Errorf("%+v", g)
		}
	})
}

// SS-25, SS-121: DescribePlayerSessions.
func TestDescribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		g := w.hosts(p, 200)
		var names []messages.PlayerID
		for i := range 120 {
			names = append(names, messages.PlayerID(fmt.Sprint("n", i)))
		}
		for i := 0; i < 120; i += 24 {
			w.players(g.ID, names[i:i+24]...)
		}
		var seen []string
		token := ""
		for _, n := range []int{50, 50, 20} {
			var page struct {
				NextToken      *string
				PlayerSessions []struct {
					PlayerId                      string //nolint:revive // the name on the wire
					Status                        string
					CreationTime, TerminationTime int64
				}
			}
			m := p.call(200, "DescribePlayerSessions", of(g.ID)+`,"Limit":1024,"NextToken":"`+token+`"`)
			unmarshal(t, m.text, &page)
			if len(page.PlayerSessions) != n || page.NextToken == nil {
				t.Fatalf("%s", m.text)
			}
			for _, s := range page.PlayerSessions {
				seen = append(seen, s.PlayerId)
				if s.Status != "RESERVED" || s.TerminationTime != 0 || s.CreationTime != time.Now().UnixMilli() && s.CreationTime < 1 {
					t.Fatalf("%+v", s)
				}
			}
			token = *page.NextToken
		}
		for i, n := range names {
			if seen[i] != string(n) {
				t.Fatalf("%v", seen)
			}
		}
		if token != "" {
			t.Error(token)
		}
		if m := p.call(200, "DescribePlayerSessions", `"PlayerId":"nobody"`); !strings.Contains(m.text, `"PlayerSessions":[]`) {
			t.Error(m.text)
		}
		p.call(400, "DescribePlayerSessions", `"PlayerId":"nobody","GameSessionId":"x"`)
		p.call(400, "DescribePlayerSessions", `"PlayerId":"nobody","NextToken":"x"`)
		if m := p.call(200, "GetComputeCertificate", ""); !strings.Contains(m.text, `"CertificatePath":"/tls","ComputeName":"host-01"`) {
			t.Error(m.text)
		}
		if m := p.call(200, "GetFleetRoleCredentials", `"RoleArn":"arn:x"`); !strings.Contains(m.text, `"AccessKeyId":""`) { // SS-42
			t.Error(m.text)
		}
	})
}

// SS-30, SS-33, SS-129, SS-131: ends that the service decides on.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		g := w.hosts(p, 2)
		ask(w, messages.TerminateGameSession{GameSessionID: g.ID})
		p.pushed("TerminateProcess", nil)
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminating {
			t.Error(s)
		}
		p.call(200, "TerminateServerProcess", "")
		synctest.Wait()
		if g := w.game(g.ID); g.Status != messages.GameSessionTerminated || g.StatusReason != "TRIGGERED_ON_PROCESS_TERMINATE" {
			t.Errorf("%+v", g)
		}

		p = w.connect("q").ready(2)
		g = w.hosts(p, 2)
		ask(w, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
		if c := p.ends(); c != 0 {
			t.Error(c)
		}
		synctest.Wait()
		if g := w.game(g.ID); g.Status != messages.GameSessionTerminated || g.StatusReason != "FORCE_TERMINATED" {
			t.Errorf("%+v", g)
		}
		if _, status := w.dial("/server-sdk", w.query("q")); status != 403 {
			t.Error(status)
		}

		hosting, ready, new := w.connect("r").ready(3), w.connect("s").ready(4), w.connect("t")
		w.create(2)
		hosting.pushed("CreateGameSession", nil)
		ask(w, messages.DeregisterCompute{FleetID: w.fleet, Name: "host-01"})
		ready.pushed("TerminateProcess", nil)
		hosting.pushed("TerminateProcess", nil)
		if c := new.ends(); c != 0 { // SS-131: never activated, so it is not told
			t.Error(c)
		}
		if _, status := w.dial("/server-sdk", w.query("u")); status != 403 {
			t.Error(status)
		}
	})
}

// SS-34, SS-35, SS-111, SS-115, SS-204: a process whose connection is lost goes on with another.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		p.deaf.Store(true) // the push may be lost
		g := w.create(2)
		time.Sleep(time.Second)
		p.pushed("CreateGameSession", nil)
		p.nc.Close()
		time.Sleep(20 * time.Second)
		p = w.connect("p")
		p.silent()
		p.beat(true)
		p.pushed("CreateGameSession", nil)
		p.call(200, "ActivateGameSession", of(g.ID))
		id := w.players(g.ID, "a")[0]
		p.sendAs("same", "AcceptPlayerSession", seat(g.ID, id))
		first := p.next()
		p.nc.Close()
		p = w.connect("p")
		p.sendAs("same", "AcceptPlayerSession", seat(g.ID, id))
		if again := p.next(); again.text != first.text || again.StatusCode != 200 {
			t.Errorf("%s, then %s", first.text, again.text)
		}
		if s := w.game(g.ID).Status; s != messages.GameSessionActive {
			t.Error(s)
		}
	})
}

// SS-105, SS-134, SS-36, 12.3: a second connection of a process supersedes the first.
func TestSuperseded(t *testing.T) {
	for language, want := range map[string]struct {
		code  int
		after time.Duration
	}{"Go": {0, 70 * time.Second}, "CSharp": {1000, 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			w := begin(t)
			old := w.connect("p", "sdkLanguage", language).ready(1)
			p := w.connect("p", "sdkLanguage", language)
			at := time.Now()
			old.call(200, "GetComputeCertificate", "")
			p.beat(true)
			w.create(1)
			p.pushed("CreateGameSession", nil)
			old.silent()
			if c := old.ends(); c != want.code || time.Since(at) != want.after {
				t.Errorf("%s: %d after %v", language, c, time.Since(at))
			}
			p.beat(true)
		})
	}
}

// A process that connects again and again has a few connections, and takes none away from others.
func TestManyConnectionsOfAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		all := []*process{w.connect("p").ready(1)}
		for range 20 {
			all = append(all, w.connect("p"))
		}
		synctest.Wait()
		open := 0
		for _, p := range all {
			select {
			case <-p.text:
			default:
				open++
			}
		}
		if open > 5 {
			t.Errorf("%d connections", open)
		}
		all[20].beat(true)
	})
}

// SS-37, SS-104, D-402: a process gets another token before its own expires.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		at := time.Now()
		for i := 1; len(p.text) == 0; i++ {
			if time.Sleep(time.Second); i%60 == 0 {
				p.beat(true)
			}
			synctest.Wait()
		}
		var r struct{ RefreshConnectionEndpoint, AuthToken string }
		p.pushed("RefreshConnection", &r)
		if d := time.Since(at); d <= 150*time.Minute || d > 160*time.Minute || r.RefreshConnectionEndpoint != w.Host.Host.Addrs().ServerSDK || r.AuthToken == w.token {
			t.Errorf("after %v: %+v", d, r)
		}
		time.Sleep(184 * time.Second) // SS-133: a process in Go that cannot reach the new endpoint is silent, and alive
		p.silent()
		p.beat(true)
		at = time.Now()
		p.pushed("RefreshConnection", nil)
		if d := time.Since(at); d != 5*time.Second {
			t.Errorf("again after %v", d)
		}
		w.token = r.AuthToken
		p = w.connect("p")
		p.beat(true)
		time.Sleep(time.Minute)
		p.silent()
	})
}

// SS-5: wss with TLS 1.2.
func TestTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(c *host.Config) { c.API.TLS, c.TLS.Dir = true, t.TempDir() })
		nc, err := w.Net.DialContext(t.Context(), "tcp", w.Host.Host.Addrs().API)
		if err != nil {
			t.Fatal(err)
		}
		secured := tls.Client(nc, &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true}) // as the C++ client
		p, status := w.shake(secured, "/server-sdk/", w.query("p"))
		if p == nil || !strings.HasPrefix(w.Host.Host.Addrs().ServerSDK, "wss://") {
			t.Fatal(status)
		}
		p.ready(1)
		w.hosts(p, 1)
	})
}

// An address of its own serves every path, and RegisterCompute names it (SS-44).
func TestOwnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(c *host.Config) { c.ServerSDK.Addr = "127.0.0.1:0" })
		at, ok := strings.CutPrefix(w.Host.Host.Addrs().ServerSDK, "ws://")
		if !ok || strings.Contains(at, "/") {
			t.Fatal(at)
		}
		for _, path := range []string{"/", "/x/y"} {
			nc, err := w.Net.DialContext(t.Context(), "tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			if p, status := w.shake(nc, path, w.query("p")); p == nil {
				t.Error(status)
			}
		}
		w.connect("q").ready(1)
	})
}

// SS-46: the sequences of section 17, with the rules of the C++ client: a slash is appended, nothing is encoded, requests
// are sent again with the same id, and the client closes with 1001. SS-43: its ids are within the patterns of 3.2.
func TestO3DE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		const pid = "ProcessId_1767225600"
		query := "pID=" + pid + "&sdkVersion=5.1.2&sdkLanguage=Cpp&ComputeId=host-01&FleetId=" + string(w.fleet) + "&IdempotencyToken=abc&Authorization=" + w.token
		open := func() *process {
			p, status := w.dial("/server-sdk/", query)
			if p == nil {
				t.Fatal(status)
			}
			return p
		}
		p := open()
		p.ready(33450)
		g := w.create(8)
		p.pushed("CreateGameSession", nil)
		for range 2 { // it is sent again
			p.sendAs("0123456789abcdef0123456789abcdef", "ActivateGameSession", of(g.ID))
			if m := p.next(); m.StatusCode != 200 {
				t.Error(m.text)
			}
		}
		synctest.Wait()
		id := w.players(g.ID, "p")[0]
		for value, form := range map[string]string{
			string(w.fleet): `\A[a-zA-Z0-9.-]{1,256}\z`, string(id): `\Apsess-[a-zA-Z0-9.-]{1,250}\z`, string(g.ID): `\A[a-zA-Z0-9:/-]{1,256}\z`, duelARN: `\Aarn:(aws|aws-cn):gamelift:([a-z]{2}-[a-z]+-\d{1}):(\d{12})?:([a-z]+)/(.+)\z`,
		} {
			if !regexp.MustCompile(form).MatchString(value) {
				t.Errorf("%s is not %s", value, form)
			}
		}
		p.call(200, "AcceptPlayerSession", seat(g.ID, id))
		p.call(400, "AcceptPlayerSession", seat(g.ID, "psess-x"))
		p.call(200, "DescribePlayerSessions", of(g.ID)+`,"PlayerSessionStatusFilter":"ACTIVE","Limit":30`)
		p.call(200, "RemovePlayerSession", seat(g.ID, id))
		p.frame(rfc6455.Close, []byte{0x03, 0xe9}) // two requests were not answered in time
		p.ends()
		time.Sleep(4 * time.Second)
		p = open()
		p.beat(true)
		ask(w, messages.TerminateGameSession{GameSessionID: g.ID})
		p.pushed("TerminateProcess", nil)
		p.call(200, "TerminateServerProcess", "")
		p.frame(rfc6455.Close, []byte{0x03, 0xe9})
		if c := p.ends(); c != 1001 {
			t.Error(c)
		}
		synctest.Wait()
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s)
		}
	})
}

// A deleted fleet ends its processes. Its game sessions end with them, and then the fleet is TERMINATED.
func TestDeletedFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		hosting, ready := w.connect("p").ready(1), w.connect("q").ready(2)
		g := w.hosts(hosting, 2)
		ask(w, messages.DeleteFleet{ID: w.fleet})
		hosting.pushed("TerminateProcess", nil)
		ready.pushed("TerminateProcess", nil)
		hosting.call(200, "TerminateServerProcess", "")
		ready.call(200, "TerminateServerProcess", "")
		synctest.Wait()
		if s := w.game(g.ID).Status; s != messages.GameSessionTerminated {
			t.Error(s)
		}
	})
}

// Players connect to the process: a Realtime client cannot log in to its game session. An operator's kick ends the player
// session, and a banned player is not accepted.
func TestRealtimeLoginIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		g := w.hosts(p, 3)
		ids := w.players(g.ID, "a", "b")
		c, err := stock.Dial(t.Context(), w.Host.Host.Addrs().WS, string(ids[0]), stock.Options{NoUDP: true, Network: w.Net})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.AwaitLogin(t.Context()); !errors.Is(err, stock.ErrLoginRefused) {
			t.Error(err)
		}
		p.call(200, "AcceptPlayerSession", seat(g.ID, ids[0]))
		if n := ask(w, messages.KickPlayer{GameSession: g.ID, Player: "b", Reason: "x"}); n != 1 {
			t.Error(n)
		}
		synctest.Wait()
		p.call(400, "AcceptPlayerSession", seat(g.ID, ids[1]))
		if s := w.player(ids[1]); s != messages.PlayerSessionCompleted {
			t.Error(s)
		}
	})
}
