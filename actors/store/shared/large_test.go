package shared

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/cluster/clustertest"
	"troupe/actors/store"
	"troupe/messages/coord"
)

// A commit that needs several transactions is made completely or not at all, whenever the term ends. What was answered
// is made.
func TestLargeCommits(t *testing.T) {
	const step = 10 * time.Millisecond // half of the time of a request
	made := map[string]int{}
	for at := time.Duration(0); made["answered"] < 3; at += step {
		inBubble(t, func(w *world) {
			s, c := w.lead(Options{})
			w.ok(commitNow(s, put(store.Fleet, "old", "1"), put(store.Ticket, "old", "1"), put(store.Ticket, "0", "\x00old")))
			c.SetFaults(clustertest.Faults{Delay: 10 * time.Millisecond})
			changes := []store.Change{store.Delete(store.Fleet, "old"), store.Delete(store.Ticket, "old")}
			want := ""
			for i := range 3 * changesMax {
				changes = append(changes, put(store.Ticket, fmt.Sprintf("%03d\xff", i), ""))
				want += fmt.Sprintf("%03d\xff= ", i)
			}
			changes = append(changes, put(store.Ticket, "0", "\x00new"), put(store.Ticket, "000\xff", "2"), store.Delete(store.Ticket, "001\xff"))
			want = strings.Replace(strings.Replace(want, "000\xff=", "000\xff=2", 1), "001\xff= ", "", 1)
			answer := make(chan error, 2)
			s.Commit(changes, func(err error) { answer <- err })
			s.Commit([]store.Change{put(store.Alias, "next", "1")}, func(err error) { answer <- err })
			time.Sleep(at)
			next, _ := w.lead(Options{})
			s.Flush()
			err, nextErr := <-answer, <-answer
			if err != nil { // the answers to what is refused come in the opposite order
				err, nextErr = nextErr, err
			}
			if err != nil && !errors.Is(err, ErrOver) {
				t.Fatal(err)
			}
			fleets, tickets := w.all(next, store.Fleet), w.all(next, store.Ticket)
			switch {
			case fleets == "" && tickets == strings.TrimSpace("0=\x00new "+want):
				made["whole"]++
			case fleets == "old=1" && tickets == "0=\x00old old=1" && err != nil:
				made["nothing"]++
			default:
				t.Fatalf("after %v: answered with %v; fleets %q, %d bytes of tickets", at, err, fleets, len(tickets))
			}
			if err == nil {
				made["answered"]++
			} else {
				w.wantErr(nextErr, ErrOver)
			}
			w.want("what is left of the commit", w.keys("large/"), 0)
			w.want("pieces of the ticket", w.keys("blob/"), 1)
			w.ok(next.Close())
			w.ok(s.Close())
		})
	}
	if made["nothing"] < 1 || made["whole"]-made["answered"] < 5 {
		t.Errorf("no term ended in the middle of the commit: %v", made)
	}
}

// While the coordinator is full, a large commit that has begun waits until it is made.
func TestALargeCommitWhileTheCoordinatorIsFull(t *testing.T) {
	inBubble(t, func(w *world) {
		s, c := w.lead(Options{})
		many := make([]store.Change, 5*changesMax)
		for i := range many {
			many[i] = put(store.Alias, fmt.Sprint(i), "")
		}
		w.coordinator.SetFull(true)
		w.wantErr(commitNow(s, many...), coord.ErrFull)
		w.coordinator.SetFull(false)
		c.SetFaults(clustertest.Faults{Delay: 10 * time.Millisecond})
		answer := make(chan error, 1)
		s.Commit(many, func(err error) { answer <- err })
		time.Sleep(70 * time.Millisecond)
		w.coordinator.SetFull(true)
		time.Sleep(time.Minute)
		w.want("aliases while it is full", w.keys("cat/alias/") > 0 && w.keys("cat/alias/") < len(many), true)
		w.coordinator.SetFull(false)
		w.ok(<-answer)
		w.want("aliases", w.keys("cat/alias/"), len(many))
		w.ok(s.Close())
	})
}
