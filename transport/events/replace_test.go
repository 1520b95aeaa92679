package events

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// What is undelivered when the sinks are replaced goes to the new ones; who has it does not get it again; readers of the stream notice nothing.
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
		s.post(d, placed(4, "p-4")) // nobody is there to take it
		if len(s.left()) != 1 {
			t.Errorf("left %v", s.left())
		}
	})
}
