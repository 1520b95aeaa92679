package events

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

func raw(name, url string) SinkOptions {
	return SinkOptions{Name: name, Type: TypeRaw, URL: url, Secret: "s3cret", Targets: []string{topic}}
}

// API-53.
func TestATerminalEventIsDeliveredOnceAndIsGoneThen(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s, count := new(shelf), new(counters.Set)
		r := receive(t, nil)
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("hook", r.URL)}, Counters: count})
		e := placed(1, "p-1")
		s.post(d, e)
		s.empty(t)
		all := r.got()
		if len(all) != 1 {
			t.Fatalf("%d requests", len(all))
		}
		var v struct {
			Version, ID, Source, Account, Time, Region string
			DetailType                                 string `json:"detail-type"`
			Resources                                  []string
			Detail                                     map[string]any
		}
		if err := json.Unmarshal([]byte(all[0].body), &v); err != nil {
			t.Fatal(err)
		}
		if v.Version != "0" || v.ID != publicID(&e) || v.Source != "aws.gamelift" || v.Account != "000000000000" || v.Region != "us-east-1" ||
			v.Time != e.Time.UTC().Format("2006-01-02T15:04:05Z") || v.DetailType != "GameLift Queue Placement Event" || !slices.Equal(v.Resources, []string{e.ARN}) {
			t.Errorf("envelope %+v", v)
		}
		if v.Detail["type"] != "PlacementFulfilled" || v.Detail["port"] != "7000" || v.Detail["placementId"] != "p-1" {
			t.Errorf("detail %v", v.Detail)
		}
		mac := hmac.New(sha256.New, []byte("s3cret"))
		mac.Write([]byte(all[0].body))
		if sum := "sha256=" + hex.EncodeToString(mac.Sum(nil)); all[0].header.Get("X-Signature-256") != sum {
			t.Errorf("signature %q, want %q", all[0].header.Get("X-Signature-256"), sum)
		}
		if got := all[0].header.Get("Content-Type"); got != "application/json" {
			t.Errorf("content type %q", got)
		}
		if n := count.Events.Get(counters.EventDelivered); n != 1 || count.EventsWaiting.Load() != 0 {
			t.Errorf("%d delivered, %d waiting", n, count.EventsWaiting.Load())
		}
	})
}

// The keeper may read an event from the outbox before post is called for it. The later post does not deliver
// the event again. API-53.
func TestAnEventIsNotDeliveredAgainWhenItIsPostedLate(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s := new(shelf)
		r := receive(t, nil)
		e := placed(1, "p")
		e.Time = time.Now().Add(time.Second) // an event of this process
		s.put(e)
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("hook", r.URL)}})
		s.empty(t)
		d.Post(e)
		s.post(d, placed(2, "p")) // its delivery comes after the earlier event of the same placement
		s.empty(t)
		if n := len(r.got()); n != 2 {
			t.Errorf("%d requests", n)
		}
		d.current.Load().mu.Lock()
		defer d.current.Load().mu.Unlock()
		if len(d.current.Load().early) != 0 {
			t.Errorf("%d are remembered", len(d.current.Load().early))
		}
	})
}

func TestSNSWebhookHasTheShapeOfANotification(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s := new(shelf)
		r := receive(t, nil)
		d := begin(t, s, Options{Sinks: []SinkOptions{{Name: "sns", Type: TypeSNS, URL: r.URL, Targets: []string{"arn:aws:sns:*:placements"}}}})
		e := placed(1, "<&>")
		s.post(d, e)
		s.empty(t)
		g := r.got()[0]
		var n map[string]string
		if err := json.Unmarshal([]byte(g.body), &n); err != nil {
			t.Fatal(err)
		}
		id := publicID(&e)
		for name, want := range map[string]string{
			"Type": "Notification", "MessageId": id, "TopicArn": topic, "Timestamp": messages.Shown(e.Time).UTC().Format("2006-01-02T15:04:05.000Z"),
			"SignatureVersion": "1", "Signature": "", "SigningCertURL": "", "UnsubscribeURL": "", "Message": string(d.current.Load().origin.render(&e)),
		} {
			if got, there := n[name]; got != want || !there {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		for name, want := range map[string]string{
			"Content-Type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": "Notification", "x-amz-sns-message-id": id, "x-amz-sns-topic-arn": topic,
		} {
			if got := g.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if !strings.Contains(n["Message"], `"placementId":"<&>"`) {
			t.Errorf("message %s", n["Message"])
		}
	})
}

func TestEventsOfTheHostHaveItsSource(t *testing.T) {
	o := origin{"r", "a"}
	for _, c := range []struct {
		kind         messages.EventKind
		detail, want string
	}{
		{messages.EventGameSession, "{\n \"gameSessionArn\": \"x\"\n}", `"detail-type":"GameLift Game Session Event","source":"selfhosted.gamelift","account":"a","time":"2026-01-02T03:04:05.006Z","region":"r","resources":["arn"],"detail":{"type":"T","gameSessionArn":"x"}}`},
		{messages.EventPlayerSession, ``, `"detail-type":"GameLift Player Session Event","source":"selfhosted.gamelift","account":"a","time":"2026-01-02T03:04:05.006Z","region":"r","resources":["arn"],"detail":{"type":"T"}}`},
		{messages.EventPlacement, `{}`, `"time":"2026-01-02T03:04:05Z","region":"r","resources":["arn"],"detail":{"type":"T"}}`},
		{messages.EventPlacement, `not JSON`, `"detail":{"type":"T"}}`},
		{messages.EventPlacement, `{"a":1}{`, `"detail":{"type":"T"}}`},
	} {
		e := messages.Event{ID: "x", Kind: c.kind, Type: "T", ARN: "arn", Time: time.Date(2026, 1, 2, 3, 4, 5, 5_600_000, time.UTC), Detail: []byte(c.detail)}
		if got := string(o.render(&e)); !strings.HasSuffix(got, c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestAnswersDecideWhatBecomesOfAnEvent(t *testing.T) {
	for status, again := range map[int]bool{200: false, 204: false, 299: false, 400: false, 403: false, 404: false, 410: false,
		408: true, 429: true, 500: true, 503: true, 301: true, 307: true} {
		inBubble(t, func(t *bubble) {
			elsewhere := receive(t, nil)
			s, count := new(shelf), new(counters.Set)
			r := receive(t, func(n int, _ got) int {
				if n == 0 {
					return status
				}
				return 200
			})
			if all := r.Config.Handler; status/100 == 3 {
				r.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					w.Header().Set("Location", elsewhere.URL)
					all.ServeHTTP(w, q)
				})
			}
			d := begin(t, s, Options{Sinks: []SinkOptions{raw("hook", r.URL)}, Counters: count})
			s.post(d, placed(1, "p"))
			time.Sleep(time.Second)
			s.empty(t)
			all := r.got()
			if again != (len(all) == 2) || len(elsewhere.got()) > 0 {
				t.Fatalf("%d: %d requests, %d elsewhere", status, len(all), len(elsewhere.got()))
			}
			if again && (all[0].body != all[1].body || all[0].header.Get("X-Signature-256") != all[1].header.Get("X-Signature-256") || all[1].at.Sub(all[0].at) != time.Second) {
				t.Errorf("%d: the second attempt is not the first one again, after a second", status)
			}
			if dropped := count.Events.Get(counters.EventDropped); (dropped == 1) != (status/100 == 4 && !again) {
				t.Errorf("%d: %d dropped", status, dropped)
			}
		})
	}
}

func TestRetriesBackOffForAnHour(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s, count := new(shelf), new(counters.Set)
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("hook", "http://host.invalid")}, Counters: count})
		down := &fake{result: func(int) error { return errDown }}
		d.instead(0, down)
		start := time.Now()
		s.post(d, placed(1, "p"))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		var at []time.Duration
		for _, x := range down.at {
			at = append(at, x.Sub(start))
		}
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second, 63 * time.Second, 123 * time.Second}
		for x := 183 * time.Second; x < time.Hour; x += time.Minute {
			want = append(want, x)
		}
		if want = append(want, time.Hour); !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
		if len(s.left()) > 0 || count.Events.Get(counters.EventDropped) != 1 || count.EventsWaiting.Load() != 0 {
			t.Errorf("left %v, %d dropped", s.left(), count.Events.Get(counters.EventDropped))
		}
		end(d)
	})
}

// holding is an outlet whose deliveries wait until until is closed, and are then recorded.
type holding struct {
	fake
	until   chan struct{}
	waiting atomic.Int64
}

func (h *holding) deliver(ctx context.Context, i *item) error {
	h.waiting.Add(1)
	<-h.until
	return h.fake.deliver(ctx, i)
}

// A sink that does not respond delays neither other sinks nor Post, even if it has more events than fit into
// memory. In the end it has received every event once and in order.
func TestASlowSinkHoldsUpNobody(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s := new(shelf)
		slow, quick := &holding{until: make(chan struct{})}, new(fake)
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("slow", "http://host.invalid"), raw("quick", "http://host.invalid")}})
		d.instead(0, slow)
		d.instead(1, quick)
		const n = 2*queueMax + 7
		for i := range n {
			if s.post(d, placed(i, fmt.Sprint("p-", i%50))); i%(queueMax/4) == 0 {
				synctest.Wait() // the quick sink is not overloaded at this rate
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		d.current.Load().mu.Lock()
		items := len(d.current.Load().items)
		d.current.Load().mu.Unlock()
		if len(quick.ids) != n || items > 2*queueMax || slow.waiting.Load() != width {
			t.Errorf("the quick one has %d; %d events in memory; %d requests at a time", len(quick.ids), items, slow.waiting.Load())
		}
		close(slow.until)
		time.Sleep(time.Minute)
		s.empty(t)
		for name, f := range map[string]*fake{"quick": quick, "slow": &slow.fake} {
			last := map[int]int{}
			for _, id := range f.ids {
				i, err := strconv.Atoi(id)
				if before, there := last[i%50]; err != nil || there && i <= before {
					t.Errorf("%s: %d came behind %d, %v", name, i, before, err)
				}
				last[i%50] = i
			}
			if len(f.ids) != n {
				t.Errorf("%s had %d, want %d", name, len(f.ids), n)
			}
		}
	})
}

func TestWhatNobodyWantsIsDeletedAndWarnedOfOnce(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s, log := new(shelf), new(lines)
		r := receive(t, nil)
		s.put(placed(0, "of the run before"))
		own := raw("own", r.URL)
		own.Kinds = []messages.EventKind{messages.EventGameSession}
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("hook", r.URL), own}, Log: log.log()})
		s.empty(t)
		if n := len(r.got()); n != 1 {
			t.Fatalf("%d requests", n)
		}
		for n, target := range []string{"arn:aws:sns:other", "arn:aws:sns:other", ""} {
			e := placed(n+1, "p")
			e.Target = target
			s.post(d, e)
		}
		player := placed(9, "p")
		player.Kind, player.Target = messages.EventPlayerSession, ""
		s.post(d, player)
		s.empty(t)
		if n := log.count("no sink is configured"); n != 1 || len(r.got()) != 1 {
			t.Errorf("%d warnings, %d requests", n, len(r.got()))
		}
		game := placed(10, "p")
		game.Kind, game.Target = messages.EventGameSession, ""
		s.post(d, game)
		s.empty(t)
		if len(r.got()) != 2 {
			t.Error("the event of a game session was not delivered")
		}
	})
}

func TestWhatComesWhileTheOutboxIsReadIsNotForgotten(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s, up := new(shelf), new(fake)
		s.put(placed(1, "p-1"))
		started := make(chan *Dispatcher, 1)
		s.during = func() {
			d := <-started
			d.instead(0, up)
			s.post(d, placed(2, "p-2"))
		}
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("hook", "http://host.invalid")}})
		started <- d
		time.Sleep(time.Second)
		synctest.Wait()
		if len(up.ids) != 2 || len(s.left()) != 0 {
			t.Errorf("delivered %v, left %v", up.ids, s.left())
		}
		end(d)
	})
}

// Events that cannot be delivered are deleted from the outbox: records that cannot be read, and all records
// if there are no sinks.
func TestTheOutboxIsEmptied(t *testing.T) {
	for _, sinks := range [][]SinkOptions{nil, {raw("hook", "http://host.invalid")}} {
		inBubble(t, func(t *bubble) {
			s := new(shelf)
			s.Commit([]Change{{"x", []byte("{")}}, func(error) {})
			if sinks == nil {
				s.put(placed(0, "p"))
			}
			d := begin(t, s, Options{Sinks: sinks})
			if sinks == nil {
				s.post(d, placed(2, "p"))
			}
			s.empty(t)
		})
	}
}

// Close waits for running deliveries until its context ends, and then cancels them.
func TestCloseCutsOffWhatTakesTooLong(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s := new(shelf)
		r := receive(t, nil)
		r.held = make(chan struct{})
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("hook", r.URL)}})
		s.post(d, placed(1, "p"))
		if n := len(r.got()); n != 1 {
			t.Fatalf("%d requests", n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		d.Close(ctx)
		d.Close(ctx)
		if len(s.left()) != 1 {
			t.Errorf("left %v", s.left())
		}
		s.post(d, placed(2, "p"))
		if len(s.left()) != 2 {
			t.Errorf("left %v", s.left())
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	good := raw("a", "https://user:word@example.com/x?y")
	for want, change := range map[string]func(*SinkOptions){
		"has no name":             func(o *SinkOptions) { o.Name = "" },
		"type: must be":           func(o *SinkOptions) { o.Type = "nats" },
		"url: must be set":        func(o *SinkOptions) { o.URL = "" },
		"url: must be an http":    func(o *SinkOptions) { o.URL = "ftp://example.com" },
		"url: must be an http or": func(o *SinkOptions) { o.URL = "/only/a/path" },
		"path: must":              func(o *SinkOptions) { o.Path = "x" },
		"secret: webhook-raw":     func(o *SinkOptions) { o.Secret = "" },
		"secret: a file":          func(o *SinkOptions) { o.Type, o.URL, o.Path = TypeFile, "", "x" },
		"must not be negative":    func(o *SinkOptions) { o.Files = -1 },
		"targets: \"[\"":          func(o *SinkOptions) { o.Targets = []string{"["} },
		"targets: must":           func(o *SinkOptions) { o.Targets = nil },
		"kinds: must":             func(o *SinkOptions) { o.Kinds = []messages.EventKind{"x"} },
	} {
		o := good
		change(&o)
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), strings.TrimPrefix(want, "must not")) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := New(Options{Outbox: new(shelf), Sinks: []SinkOptions{good, good}}); err == nil {
		t.Error("a name twice is allowed")
	}
	inFile := func(name string) SinkOptions { return SinkOptions{Name: name, Type: TypeFile, All: true} }
	two := []SinkOptions{inFile("a"), inFile("b")}
	two[0].Path, two[1].Path = "folder/events", "./folder//events"
	if _, err := New(Options{Outbox: new(shelf), Sinks: two}); err == nil {
		t.Error("two sinks in one file are allowed")
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no outbox is allowed")
	}
	if _, err := New(Options{Outbox: new(shelf), Sinks: make([]SinkOptions, SinksMax+1)}); err == nil {
		t.Error("too many sinks are allowed")
	}
	own := Options{Sinks: []SinkOptions{good}}
	if own.Own() {
		t.Error("nobody asks for events of game sessions")
	}
	if own.Stream.Own = true; !own.Own() {
		t.Error("the stream asks for events of game sessions")
	}
}

// When the sinks are replaced, undelivered events go to the new sinks. A sink that already has an event does
// not receive it again. Readers of the stream are not affected.
func TestTheSinksAreReplaced(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s := new(shelf)
		kept, other := receive(t, nil), receive(t, nil)
		down := receive(t, func(int, got) int { return 503 })
		d := begin(t, s, Options{Sinks: []SinkOptions{raw("kept", kept.URL), raw("down", down.URL)}})
		for n := range 3 {
			s.post(d, placed(n, fmt.Sprint("p-", n)))
		}
		if k, n := len(kept.got()), len(down.got()); k != 3 || n != 3 {
			t.Fatalf("%d and %d requests", k, n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := d.Replace(ctx, []SinkOptions{raw("kept", kept.URL), raw("kept", other.URL)}); err == nil {
			t.Error("two sinks of one name")
		}
		if err := d.Replace(ctx, []SinkOptions{raw("kept", kept.URL), raw("other", other.URL)}); err != nil {
			t.Fatal(err)
		}
		s.post(d, placed(3, "p-3"))
		s.empty(t)
		if k, o := len(kept.got()), len(other.got()); k != 4 || o != 4 {
			t.Errorf("the sink that was kept has %d, the new one %d; want 4 and 4", k, o)
		}
		if events, _, more := d.Since(0); len(events) != 4 || more == nil {
			t.Errorf("the stream has %d events, and ended: %v", len(events), more == nil)
		}
		end(d)
		if err := d.Replace(ctx, nil); err != nil {
			t.Error(err)
		}
		s.post(d, placed(4, "p-4")) // no sink subscribes to it
		if len(s.left()) != 1 {
			t.Errorf("left %v", s.left())
		}
	})
}

// If a host is killed while one receiver is down, the next process repeats to the other receivers only the
// events of the last second.
func TestAfterAKillEachSinkGoesOnFromItsOwnMark(t *testing.T) {
	inBubble(t, func(t *bubble) {
		s := new(shelf)
		sinks := []SinkOptions{raw("up", "http://host.invalid"), raw("down", "http://host.invalid"), raw("also", "http://host.invalid")}
		d := begin(t, s, Options{Sinks: sinks})
		up, also := new(fake), &fake{result: func(n int) error {
			if n == 0 { // this sink is slow at first, so its has entry is written separately
				return errDown
			}
			return nil
		}}
		d.instead(0, up)
		d.instead(1, &fake{result: func(int) error { return errDown }})
		d.instead(2, also)
		var last []string
		time.Sleep(50 * time.Millisecond)
		for n := range 15 { // until 4.55 s; the has entries are written at 1, 2.25 and 3.45 s
			e := placed(n, fmt.Sprint("p-", n))
			time.Sleep(300 * time.Millisecond)
			s.post(d, e)
			if n >= 11 {
				last = append(last, e.ID)
			}
		}
		synctest.Wait()
		killed := new(shelf) // a copy of the outbox at this moment
		_, _ = s.Memory.Load(store.Event, func(id string, value []byte) error {
			killed.Memory.Commit([]store.Change{{Kind: store.Event, ID: id, Value: slices.Clone(value)}}, nil)
			return nil
		})
		ready := make(chan struct{})
		killed.during = func() { <-ready } // delays all deliveries until ready is closed
		next, down := begin(t, killed, Options{Sinks: sinks}), new(fake)
		up, also = new(fake), new(fake)
		next.instead(0, up)
		next.instead(1, down)
		next.instead(2, also)
		close(ready)
		time.Sleep(time.Minute)
		killed.empty(t)
		slices.Sort(up.ids)
		slices.Sort(also.ids)
		if !slices.Equal(up.ids, last) || !slices.Equal(also.ids, last) || len(down.ids) != 15 {
			t.Errorf("again %v and %v, want %v; the one that was down gets %d", up.ids, also.ids, last, len(down.ids))
		}
	})
}

// FM-34, and the targets of matchmaking events.
func TestMatchmakingEvents(t *testing.T) {
	e := messages.Event{
		ID: "x", Kind: messages.EventMatchmaking, Type: "MatchmakingSearching", Time: time.Date(2026, 3, 1, 12, 0, 52, 421e6, time.UTC),
		Name: "m", ARN: "arn:m", Target: "topic", Detail: []byte(`{"tickets":[]}`),
	}
	var v envelope
	if err := json.Unmarshal(origin{"us-east-1", "000000000000"}.render(&e), &v); err != nil {
		t.Fatal(err)
	}
	if v.DetailType != "GameLift Matchmaking Event" || v.Source != "aws.gamelift" || v.Time != "2026-03-01T12:00:52.421Z" || v.Resources[0] != "arn:m" {
		t.Errorf("%+v", v)
	}
	if got := about(&e); got != "m" { // one event may be about several tickets of a configuration
		t.Errorf("the subject is %q", got)
	}
	for name, c := range map[string]struct {
		o    SinkOptions
		want bool
	}{
		"all":            {SinkOptions{All: true}, true},
		"its target":     {SinkOptions{Targets: []string{"top*"}}, true},
		"another target": {SinkOptions{Targets: []string{"other"}}, false},
		"another kind":   {SinkOptions{All: true, Kinds: []messages.EventKind{messages.EventPlacement}}, false},
	} {
		if got := c.o.takes(&e); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	shown := shown{kind: e.Kind, name: e.Name, arn: e.ARN, typ: e.Type}
	for want, f := range map[bool]filter{true: {matchmakers: []string{"m"}}, false: {queues: []string{"m"}}} {
		if f.takes(&shown) != want {
			t.Errorf("%+v", f)
		}
	}
}
