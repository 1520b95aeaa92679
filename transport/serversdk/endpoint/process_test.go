package endpoint_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/internal/rfc6455"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
)

// world is a host with an ANYWHERE fleet and a compute.
type world struct {
	*hosttest.Host
	t     *testing.T
	fleet messages.FleetID
	token string
	n     int
	store string
	net   *memnet.Network
	log   zerolog.Logger
}

func begin(t *testing.T, change ...func(*host.Config)) *world {
	t.Helper()
	return beginLogging(t, hosttest.Log(t), change...)
}

func beginLogging(t *testing.T, log zerolog.Logger, change ...func(*host.Config)) *world {
	t.Helper()
	w := &world{t: t, log: log}
	w.start(change...)
	ask(w, messages.CreateLocation{Location: messages.Location{Name: "custom-lan"}})
	fleet := ask(w, messages.CreateFleet{Anywhere: true, Locations: []string{"custom-lan"}})
	w.fleet = fleet.ID
	w.token = w.register("host-01")
	return w
}

// start starts the host, or starts it again after it was closed.
func (w *world) start(change ...func(*host.Config)) {
	w.t.Helper()
	c := hosttest.Config(w.t)
	for _, f := range change {
		f(&c)
	}
	w.Host = hosttest.Start(w.t, host.Options{Config: c, Log: w.log})
}

func ask[A any](w *world, q messages.RequestOf[A]) A {
	w.t.Helper()
	a, err := messages.Do(w.t.Context(), w.Host.Host.Doer(), q)
	if err != nil {
		w.t.Fatalf("%T: %v", q, err)
	}
	return a
}

func (w *world) register(compute string) (token string) {
	w.t.Helper()
	ask(w, messages.RegisterCompute{Compute: messages.Compute{FleetID: w.fleet, Name: compute, Location: "custom-lan", IPAddress: "10.1.2.3", CertificatePath: "/tls"}})
	return ask(w, messages.AuthorizeCompute{FleetID: w.fleet, Name: compute}).Token
}

// query returns the query of a handshake, with some members changed. An empty value removes a member.
func (w *world) query(pid string, changes ...string) string {
	q := url.Values{
		"pID": {pid}, "sdkVersion": {"5.6.0"}, "sdkLanguage": {"Go"}, "ComputeId": {"host-01"}, "FleetId": {string(w.fleet)},
		"IdempotencyToken": {"x"}, "Authorization": {w.token},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q.Encode()
}

// process is a connection of a process.
type process struct {
	t    *testing.T
	nc   net.Conn
	in   *bufio.Reader
	n    int
	text chan string // what arrives; closed with the connection
	code int         // of the close frame; set when text is closed

	pongs atomic.Int32
	deaf  atomic.Bool // it answers no pings
}

// dial makes a handshake. status is that of the answer.
func (w *world) dial(path, query string) (p *process, status int) {
	w.t.Helper()
	nc, err := w.Net.DialContext(w.t.Context(), "tcp", w.Host.Host.Addrs().API)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.shake(nc, path, query)
}

// shake makes a handshake on a connection.
func (w *world) shake(nc net.Conn, path, query string) (p *process, status int) {
	w.t.Helper()
	fmt.Fprintf(nc, "GET %s?%s HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		path, query, base64.StdEncoding.EncodeToString([]byte("0123456789abcdef")))
	in := bufio.NewReader(nc)
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if r.StatusCode != http.StatusSwitchingProtocols {
		nc.Close()
		return nil, r.StatusCode
	}
	p = &process{t: w.t, nc: nc, in: in, text: make(chan string, 1000)}
	w.t.Cleanup(func() { nc.Close() })
	go p.read()
	return p, r.StatusCode
}

func (w *world) connect(pid string, changes ...string) *process {
	w.t.Helper()
	p, status := w.dial("/server-sdk", w.query(pid, changes...))
	if p == nil {
		w.t.Fatalf("the handshake of %s: %d", pid, status)
	}
	return p
}

// read answers pings, as every SDK does, and passes on text.
func (p *process) read() {
	defer close(p.text)
	for {
		var b [rfc6455.HeaderMax]byte
		if _, err := io.ReadFull(p.in, b[:2]); err != nil {
			return
		}
		size := rfc6455.HeaderSize(b[1])
		if _, err := io.ReadFull(p.in, b[2:size]); err != nil {
			return
		}
		h, breach := rfc6455.ParseHeader(b[:size], false)
		if breach != nil {
			return
		}
		payload := make([]byte, h.Length)
		if _, err := io.ReadFull(p.in, payload); err != nil {
			return
		}
		switch h.Op {
		case rfc6455.Ping:
			if !p.deaf.Load() {
				p.frame(rfc6455.Pong, payload)
			}
		case rfc6455.Pong:
			p.pongs.Add(1)
		case rfc6455.Close:
			p.code = 1005
			if len(payload) >= 2 {
				p.code = int(binary.BigEndian.Uint16(payload))
			}
			return
		case rfc6455.Text:
			p.text <- string(payload)
		}
	}
}

func (p *process) frame(op rfc6455.Opcode, payload []byte) {
	_, _ = p.nc.Write(rfc6455.AppendMasked(nil, op, 0x01020304, payload))
}

// send sends a request and returns its id.
func (p *process) send(action, members string) string {
	p.n++
	id := fmt.Sprintf("r%d", p.n)
	p.sendAs(id, action, members)
	return id
}

func (p *process) sendAs(id, action, members string) {
	if members != "" {
		members = "," + members
	}
	p.frame(rfc6455.Text, []byte(`{"Action":"`+action+`","RequestId":"`+id+`"`+members+`}`))
}

type message struct {
	Action, RequestId, ErrorMessage string //nolint:revive // the names on the wire
	StatusCode                      int
	text                            string
}

// next returns the next message. It fails the test if the connection has ended.
func (p *process) next() (m message) {
	p.t.Helper()
	text, ok := <-p.text
	if !ok {
		p.t.Fatalf("the connection has ended with %d", p.code)
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	m.text = text
	return m
}

// ends waits for the end of the connection, and returns the code of its close frame, or 0.
func (p *process) ends() int {
	for range p.text {
	}
	return p.code
}

// silent checks that nothing has arrived.
func (p *process) silent() {
	p.t.Helper()
	synctest.Wait()
	select {
	case text, ok := <-p.text:
		if ok {
			p.t.Fatalf("unexpected: %s", text)
		}
		p.t.Fatal("the connection has ended")
	default:
	}
}

// call sends a request and checks the status of its answer.
func (p *process) call(status int, action, members string) message {
	p.t.Helper()
	id := p.send(action, members)
	m := p.next()
	if m.Action != action || m.RequestId != id || m.StatusCode != status {
		p.t.Fatalf("%s %s was answered with %s, not %d", action, members, m.text, status)
	}
	return m
}

func (p *process) beat(healthy bool) {
	p.t.Helper()
	p.call(200, "HeartbeatServerProcess", fmt.Sprintf(`"HealthStatus":%v`, healthy))
}

func port(n int) string {
	return fmt.Sprintf(`"SdkVersion":"5.6.0","SdkLanguage":"Go","Port":%d,"LogPaths":["/var/log/game"]`, n)
}

// ready makes a process ready to host.
func (p *process) ready(n int) *process {
	p.t.Helper()
	p.call(200, "ActivateServerProcess", port(n))
	p.beat(true)
	return p
}

// pushed returns the next message, which must be a push.
func (p *process) pushed(action string, to any) {
	p.t.Helper()
	m := p.next()
	if m.Action != action || strings.Contains(m.text, "RequestId") {
		p.t.Fatalf("%s, not a push of %s", m.text, action)
	}
	if to != nil {
		if err := json.Unmarshal([]byte(m.text), to); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (w *world) create(max int) *messages.GameSession {
	w.t.Helper()
	return ask(w, messages.CreateGameSession{FleetID: w.fleet, MaxPlayers: max, Name: "lobby", Properties: []messages.Property{{Key: "map", Value: "arena"}}})
}

func (w *world) game(id messages.GameSessionID) *messages.GameSession {
	w.t.Helper()
	return ask(w, messages.GameSessionQuery{ID: id})
}

func of(id messages.GameSessionID) string { return `"GameSessionId":"` + string(id) + `"` }

// hosts makes a process host a game session.
func (w *world) hosts(p *process, max int) *messages.GameSession {
	w.t.Helper()
	g := w.create(max)
	p.pushed("CreateGameSession", nil)
	p.call(200, "ActivateGameSession", of(g.ID))
	synctest.Wait()
	return g
}

func (w *world) players(g messages.GameSessionID, names ...messages.PlayerID) (ids []messages.PlayerSessionID) {
	w.t.Helper()
	var who []messages.NewPlayer
	for _, n := range names {
		who = append(who, messages.NewPlayer{PlayerID: n})
	}
	for _, s := range ask(w, messages.CreatePlayerSessions{GameSessionID: g, Players: who}) {
		ids = append(ids, s.ID)
	}
	return ids
}

func (w *world) player(id messages.PlayerSessionID) messages.PlayerSessionStatus {
	return w.Host.Host.System().PlayerSession(id)
}

func seat(g messages.GameSessionID, p messages.PlayerSessionID) string {
	return of(g) + `,"PlayerSessionId":"` + string(p) + `"`
}

// SS-1, SS-12, SS-14 to SS-20, SS-22, SS-23, SS-33, SS-101: a whole life of a process, with the frames of section 20.
func TestALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("proc_42.a").ready(7777)
		g := w.create(2)
		if g.Status != messages.GameSessionActivating || g.IPAddress != "10.1.2.3" || g.Port != 7777 {
			t.Fatalf("%+v", g)
		}
		m := p.next()
		want := `{"Action":"CreateGameSession","GameSessionId":"` + string(g.ID) + `","GameSessionName":"lobby","MaximumPlayerSessionCount":2,"IpAddress":"10.1.2.3","Port":7777,"DnsName":"","GameProperties":{"map":"arena"},"GameSessionData":"","MatchmakerData":""}`
		if m.text != want {
			t.Fatalf("%s\nnot %s", m.text, want)
		}
		p.call(200, "ActivateGameSession", of(g.ID))
		p.call(200, "ActivateGameSession", of(g.ID))
		synctest.Wait()
		if s := w.game(g.ID).Status; s != messages.GameSessionActive {
			t.Fatal(s)
		}
		ids := w.players(g.ID, "p1", "p2")
		p.call(200, "AcceptPlayerSession", seat(g.ID, ids[0]))
		if s := w.player(ids[0]); s != messages.PlayerSessionActive {
			t.Error(s)
		}
		p.call(400, "AcceptPlayerSession", seat(g.ID, ids[0])) // SS-114
		p.call(400, "AcceptPlayerSession", seat(g.ID, "psess-zz"))
		p.call(200, "RemovePlayerSession", seat(g.ID, ids[0]))
		p.call(400, "RemovePlayerSession", seat(g.ID, ids[0]))
		synctest.Wait()
		if n := w.game(g.ID).CurrentPlayers; n != 1 {
			t.Errorf("%d players", n)
		}
		w.players(g.ID, "p3")
		p.call(200, "TerminateServerProcess", "")
		synctest.Wait()
		if g := w.game(g.ID); g.Status != messages.GameSessionTerminated || g.CurrentPlayers != 0 {
			t.Errorf("%+v", g)
		}
		if s := w.player(ids[1]); s != messages.PlayerSessionCompleted { // D-406
			t.Error(s)
		}
		p.call(200, "TerminateServerProcess", "")
		time.Sleep(time.Minute)
		if code := p.ends(); code != 0 { // SS-36
			t.Errorf("close code %d", code)
		}
		if _, status := w.dial("/server-sdk", w.query("proc_42.a")); status != 403 { // SS-10, SS-106
			t.Error(status)
		}
	})
}

// logged is a log that any goroutine may write.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// SS-2 to SS-4, SS-7, SS-8, SS-102, SS-127: the table of 5.1. No token is in the log.
func TestHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logged)
		w := beginLogging(t, zerolog.New(log).Level(zerolog.TraceLevel))
		other := w.register("host-02")
		for query, want := range map[string]int{
			w.query("a", "pID", ""):                400,
			w.query("a", "ComputeId", "a_b"):       400,
			w.query("a", "FleetId", ""):            400,
			w.query("a", "Authorization", ""):      401,
			w.query("a", "Authorization", "wrong"): 403,
			w.query("a", "Authorization", other):   403,
			w.query("a", "ComputeId", "host-03"):   403,
			w.query("a", "FleetId", "fleet-1"):     403,
			w.query("a", "Authorization", "SigV4"): 403,
			strings.ToLower(w.query("a")):          400,
			w.query("a") + "&x=y":                  101,
			w.query("b", "Authorization", w.token): 101,
		} {
			for _, path := range []string{"/server-sdk", "/server-sdk/"} {
				if _, status := w.dial(path, query); status != want {
					t.Errorf("%s: %d, not %d", query, status, want)
				}
			}
		}
		if n := w.Host.Host.Counters().Servers.Total(); n != 2 { // SS-102: those that were refused have left nothing
			t.Errorf("%d processes", n)
		}
		r, err := w.Web.Get("http://" + w.Host.Host.Addrs().API + "/server-sdk?" + w.query("a"))
		if err != nil || r.StatusCode != 426 {
			t.Error(r, err)
		}
		r.Body.Close()
		ask(w, messages.DeregisterCompute{FleetID: w.fleet, Name: "host-02"})
		if _, status := w.dial("/server-sdk", w.query("z", "ComputeId", "host-02", "Authorization", other)); status != 403 {
			t.Error(status)
		}
		time.Sleep(3 * time.Hour)
		if _, status := w.dial("/server-sdk", w.query("y")); status != 403 {
			t.Error(status)
		}
		w.Host.Host.Close()
		if text := log.text.String(); !strings.Contains(text, "server process connected") || strings.Contains(text, w.token) || strings.Contains(text, other) {
			t.Errorf("the log is %s", text)
		}
	})
}

func unmarshal(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatal(text, err)
	}
}
