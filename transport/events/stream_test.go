package events

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

// reading is a reader of a stream.
type reading struct {
	*bufio.Reader
	response *http.Response
}

// read opens a stream, and returns after the host has accepted it.
func read(t *bubble, address, last string) *reading {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	transport := &http.Transport{DialContext: t.net.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	r, err := transport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	read := &reading{bufio.NewReader(r.Body), r}
	if r.StatusCode == http.StatusOK {
		if line, err := read.ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	return read
}

// next returns the next event of the stream.
func (r *reading) next(t *bubble) (id, kind, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended: %v", err)
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "event: "):
			kind = line[7:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && id != "":
			return id, kind, data
		}
	}
}

func streaming(t *bubble, o StreamOptions) (*Dispatcher, string) {
	t.Helper()
	d := begin(t, new(shelf), Options{Stream: o})
	server := t.serve(d)
	t.Cleanup(func() { end(d) })
	return d, server.URL + "/events"
}

func TestStreamShowsWhatHappensFromThenOn(t *testing.T) {
	inBubble(t, func(t *bubble) {
		d, address := streaming(t, StreamOptions{})
		before := placed(1, "p")
		d.Post(before)
		all := read(t, address, "")
		if got := all.response.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %q", got)
		}
		ours := read(t, address+"?queue=queue-2,queue-3", "")
		typed := read(t, address+"?types=PlacementFailed&types=PlacementTimedOut", "")
		matched := read(t, address+"?matchmaker=m", "")
		byARN := read(t, address+"?queue=arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/queue-3", "")
		own := placed(2, "p") // no reader subscribes to events of game sessions
		own.Kind = messages.EventGameSession
		d.Post(own)
		for n, queue := range []string{"queue-1", "queue-2", "queue-3"} {
			e := placed(n+3, "p")
			e.Name, e.ARN = queue, strings.Replace(e.ARN, "queue-1", queue, 1)
			if n == 2 {
				e.Type, e.Detail = "PlacementTimedOut", []byte("{\n}")
			}
			d.Post(e)
		}
		time.Sleep(2 * time.Minute) // streams continue beyond the server's ReadTimeout
		last := placed(6, "p")
		last.Type, last.Name = "PlacementFailed", "queue-3"
		d.Post(last)
		for name, c := range map[string]struct {
			r    *reading
			want []int
		}{"all": {all, []int{3, 4, 5, 6}}, "ours": {ours, []int{4, 5, 6}}, "typed": {typed, []int{5, 6}}, "by ARN": {byARN, []int{5}}} {
			for _, n := range c.want {
				e := placed(n, "p")
				id, kind, data := c.r.next(t)
				if id != publicID(&e) || n == 5 && kind != "PlacementTimedOut" || !strings.HasPrefix(data, `{"version":"0","id":"`+id) || !strings.HasSuffix(data, "}}") {
					t.Errorf("%s: %s %s %s, want %d", name, id, kind, data, n)
				}
			}
		}
		end(d)
		if line, err := matched.ReadString(0); err == nil || strings.Contains(line, "data:") {
			t.Errorf("a matchmaker's stream: %q, %v", line, err)
		}
	})
}

func TestStreamGoesOnBehindTheLastEventSeen(t *testing.T) {
	inBubble(t, func(t *bubble) {
		d, address := streaming(t, StreamOptions{Buffer: 5, Own: true})
		ids := make([]string, 12)
		for n := range ids {
			e := placed(n, "p")
			if n%2 == 1 {
				e.Kind = messages.EventPlayerSession
			}
			ids[n] = publicID(&e)
			d.Post(e)
		}
		// 2 is no longer stored, so the stream begins with the oldest stored event
		for last, want := range map[int]int{9: 10, 7: 8, 2: 7} {
			r := read(t, address, ids[last])
			for ; want < len(ids); want++ {
				if id, _, _ := r.next(t); id != ids[want] {
					t.Errorf("behind %d: %s, want %d", last, id, want)
				}
			}
		}
	})
}

func TestStreamBoundsItsReaders(t *testing.T) {
	inBubble(t, func(t *bubble) {
		d, address := streaming(t, StreamOptions{})
		first := read(t, address, "")
		for range readersMax - 1 {
			read(t, address, "")
		}
		if r := read(t, address, ""); r.response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a reader too many: %d", r.response.StatusCode)
		}
		first.response.Body.Close()
		synctest.Wait()
		d.stream.mu.Lock()
		if d.stream.readers != readersMax-1 {
			t.Errorf("%d readers", d.stream.readers)
		}
		d.stream.mu.Unlock()
		read(t, address, "")
	})
}

// A reader that falls behind the buffer is disconnected. The buffer is limited in bytes as well as in events.
func TestASlowReaderIsLetGo(t *testing.T) {
	s := newStream(StreamOptions{Buffer: 100})
	next, ok := s.enter("")
	if !ok {
		t.Fatal("not let in")
	}
	body := make([]byte, 1<<20)
	for n := range 101 {
		e := placed(n, "p")
		s.add(&coord.Published{ID: e.ID, Data: body}, false)
	}
	if _, first, _ := s.from(next); first == next {
		t.Error("it has missed events and does not know")
	}
	if s.bytes > bufferBytesMax || len(s.buffer) != 7 {
		t.Errorf("%d bytes, %d events", s.bytes, len(s.buffer))
	}
}

func TestASilentStreamShowsThatItLives(t *testing.T) {
	inBubble(t, func(t *bubble) {
		d := begin(t, new(shelf), Options{})
		ctx, cancel := context.WithCancel(context.Background())
		w := httptest.NewRecorder()
		start := time.Now()
		go func() {
			time.Sleep(time.Minute + time.Second)
			cancel()
		}()
		d.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil))
		if n := strings.Count(w.Body.String(), "\n:\n"); n != 4 || time.Since(start) != 61*time.Second {
			t.Errorf("%d signs of life in %v", n, time.Since(start))
		}
		end(d)
	})
}

// Connected readers still receive the events that happen while the host stops.
func TestTheEndOfTheHostCutsNothingOffAStream(t *testing.T) {
	inBubble(t, func(t *bubble) {
		d := begin(t, new(shelf), Options{})
		w := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/events", nil))
		}()
		synctest.Wait()
		for n := range 2 * pumpMax {
			d.Post(placed(n, "p"))
		}
		end(d)
		<-ended
		if n := strings.Count(w.Body.String(), "\ndata: "); n != 2*pumpMax {
			t.Errorf("%d of %d events", n, 2*pumpMax)
		}
	})
}
