package shared

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/cluster/clustertest"
	"troupe/actors/store"
	"troupe/messages/coord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const prefix = "/troupe/test/"

// world is a coordinator with a leader.
type world struct {
	*testing.T
	coordinator *clustertest.Store
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t, clustertest.NewStore()}
		defer w.coordinator.Close()
		f(w)
	})
}

// lead begins a term, which ends the previous one.
func (w *world) lead(o Options) (*Store, *clustertest.Client) {
	w.Helper()
	c := w.coordinator.Client()
	if _, _, err := c.Commit(w.Context(), nil, []coord.Change{coord.Delete(prefix + "lead")}); err != nil {
		w.Fatal(err)
	}
	_, term, err := c.Commit(w.Context(), nil, []coord.Change{coord.Put(prefix+"lead", nil)})
	if err != nil {
		w.Fatal(err)
	}
	o.Coordinator, o.Prefix, o.Term = c, prefix, coord.Incarnation(prefix+"lead", term)
	s, err := Open(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	return s, c
}

func commitNow(s *Store, changes ...store.Change) error {
	answer := make(chan error, 1)
	s.Commit(changes, func(err error) { answer <- err })
	return <-answer
}

func put(kind store.Kind, id, value string) store.Change {
	return store.Change{Kind: kind, ID: id, Value: []byte(value)}
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wantErr(got, want error) {
	w.Helper()
	if !errors.Is(got, want) {
		w.Fatalf("%v, want %v", got, want)
	}
}

// all returns the records of a kind, in order.
func (w *world) all(s *Store, kind store.Kind) string {
	w.Helper()
	var all []string
	_, err := s.Load(kind, func(id string, value []byte) error {
		if len(value) > 40 {
			value = fmt.Appendf(nil, "%d bytes", len(value))
		}
		all = append(all, id+"="+string(value))
		return nil
	})
	w.ok(err)
	return strings.Join(all, " ")
}

func (w *world) want(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// keys returns the keys below a name.
func (w *world) keys(below string) int {
	w.Helper()
	found, err := w.coordinator.Client().Read(w.Context(), coord.Query{Key: prefix + below, Prefix: true})
	w.ok(err)
	return len(found.KVs)
}

func TestRecords(t *testing.T) {
	inBubble(t, func(w *world) {
		s, _ := w.lead(Options{})
		w.ok(commitNow(s, put(store.Fleet, "b", "1"), put(store.Fleet, "a", "2"), put(store.Ticket, "t", "3")))
		w.ok(commitNow(s, put(store.Fleet, "b", "4"), store.Delete(store.Ticket, "t"), store.Delete(store.Alias, "absent")))
		w.ok(commitNow(s, put(store.Event, "\xff\x00 any/bytes", "5"), put(store.Fleet, "", "")))
		w.ok(commitNow(s))
		w.want("fleets", w.all(s, store.Fleet), "= a=2 b=4")
		w.want("tickets", w.all(s, store.Ticket), "")
		w.want("events", w.all(s, store.Event), "\xff\x00 any/bytes=5")
		w.ok(s.Close())
		w.wantErr(commitNow(s, put(store.Fleet, "c", "")), store.ErrClosed)
		s, _ = w.lead(Options{})
		w.want("fleets in the next term", w.all(s, store.Fleet), "= a=2 b=4")
		stop := errors.New("stop")
		_, err := s.Load(store.Fleet, func(string, []byte) error { return stop })
		w.wantErr(err, stop)
		w.ok(s.Close())
	})
}

func TestManyPages(t *testing.T) {
	inBubble(t, func(w *world) {
		s, _ := w.lead(Options{})
		for i := range 2*pageMax + 1 {
			s.Commit([]store.Change{put(store.Placement, fmt.Sprint(i), "")}, nil)
		}
		n := 0
		s.Flush()
		_, err := s.Load(store.Placement, func(string, []byte) error { n++; return nil })
		w.ok(err)
		w.want("records", n, 2*pageMax+1)
		w.ok(s.Close())
	})
}

// Waiting commits are written in one transaction, in order.
func TestGroups(t *testing.T) {
	inBubble(t, func(w *world) {
		s, c := w.lead(Options{})
		c.SetFaults(clustertest.Faults{Delay: 5 * time.Millisecond})
		before := w.coordinator.Revision()
		var order []int
		for i := range 50 {
			s.Commit([]store.Change{put(store.Placement, fmt.Sprint(i%40), fmt.Sprint(i))}, func(err error) {
				w.ok(err)
				order = append(order, i)
			})
		}
		s.Flush()
		w.want("transactions", w.coordinator.Revision()-before <= 2, true)
		w.want("answers in order", slices.IsSorted(order) && len(order) == 50, true)
		w.want("the later change of a key", strings.Contains(w.all(s, store.Placement), " 9=49"), true)
		w.ok(s.Close())
	})
}

func TestBounds(t *testing.T) {
	inBubble(t, func(w *world) {
		s, c := w.lead(Options{WaitingMax: 3, BytesMax: 10})
		c.SetFaults(clustertest.Faults{Requests: true})
		answers := make(chan error, 10)
		add := func(value string) {
			s.Commit([]store.Change{put(store.Alias, "k", value)}, func(err error) { answers <- err })
		}
		add("longer than the bound")
		synctest.Wait()
		add("")
		w.wantErr(<-answers, store.ErrBusy)
		c.SetFaults(clustertest.Faults{})
		w.ok(<-answers)
		for range 97 {
			w.ok(commitNow(s, put(store.Alias, "k", "")))
		}
		many := make([]store.Change, changesMax+1)
		for i := range many {
			many[i] = put(store.Alias, fmt.Sprint(i), "")
		}
		w.wantErr(commitNow(s, put(store.Alias, strings.Repeat("k", coord.KeyMax), "")), coord.ErrTooLarge)
		big := strings.Repeat("v", pieceMax)
		w.ok(commitNow(s, put(store.Alias, "a", big), put(store.Alias, "b", big)))
		w.ok(commitNow(s, many...))
		w.ok(commitNow(s, many[1:]...))
		if err := commitNow(s, put(store.GameSession, "g", "")); err == nil {
			w.Error("a record of a node's own was shared")
		}
		w.ok(s.Close())
	})
}

// A transaction whose answer is lost is executed only once.
func TestAnswerLost(t *testing.T) {
	inBubble(t, func(w *world) {
		s, c := w.lead(Options{})
		w.ok(commitNow(s, put(store.Fleet, "a", "0")))
		c.SetFaults(clustertest.Faults{Answers: true})
		before := w.coordinator.Revision()
		answer := make(chan error, 1)
		s.Commit([]store.Change{put(store.Fleet, "a", "1")}, func(err error) { answer <- err })
		time.Sleep(5 * time.Second)
		w.want("transactions", w.coordinator.Revision(), before+1)
		c.SetFaults(clustertest.Faults{})
		w.ok(<-answer)
		w.ok(commitNow(s, put(store.Fleet, "b", "2")))
		w.want("transactions", w.coordinator.Revision(), before+2)
		w.ok(s.Close())
	})
}

// Once another node leads, nothing is written any more, and every waiting commit fails.
func TestFenced(t *testing.T) {
	inBubble(t, func(w *world) {
		over := 0
		s, c := w.lead(Options{OnOver: func() { over++ }})
		w.ok(commitNow(s, put(store.Fleet, "a", "old")))
		c.SetFaults(clustertest.Faults{Requests: true})
		var refused []int
		for i := range 3 {
			s.Commit([]store.Change{put(store.Fleet, "a", "lost")}, func(err error) {
				w.wantErr(err, ErrOver)
				refused = append(refused, i)
			})
			synctest.Wait()
		}
		next, _ := w.lead(Options{})
		w.ok(commitNow(next, put(store.Fleet, "a", "new")))
		c.SetFaults(clustertest.Faults{})
		s.Flush()
		w.want("the last is refused first", fmt.Sprint(refused), "[2 1 0]")
		w.want("told", over, 1)
		w.wantErr(commitNow(s, put(store.Fleet, "b", "")), ErrOver)
		w.want("fleets", w.all(next, store.Fleet), "a=new")
		w.ok(s.Close())
		w.ok(next.Close())
	})
}

// End does not wait for a coordinator that does not answer.
func TestEnd(t *testing.T) {
	inBubble(t, func(w *world) {
		s, c := w.lead(Options{OnOver: func() { w.Error("told of an end that it was asked for") }})
		c.SetFaults(clustertest.Faults{Requests: true})
		answers := make(chan error, 2)
		for range 2 {
			s.Commit([]store.Change{put(store.Fleet, "a", "")}, func(err error) { answers <- err })
			synctest.Wait()
		}
		begin := time.Now()
		s.End()
		w.want("time", time.Since(begin), time.Duration(0))
		w.wantErr(<-answers, ErrOver)
		w.wantErr(<-answers, ErrOver)
		s.End()
		w.ok(s.Close())
	})
}

// A full coordinator refuses changes; once it has space, it accepts them again. A transaction is not refused while one
// of its attempts may still succeed.
func TestFull(t *testing.T) {
	inBubble(t, func(w *world) {
		s, c := w.lead(Options{})
		w.coordinator.SetFull(true)
		w.wantErr(commitNow(s, put(store.Fleet, "a", "1")), coord.ErrFull)
		w.coordinator.SetFull(false)
		w.ok(commitNow(s, put(store.Fleet, "a", "2")))
		c.SetFaults(clustertest.Faults{Late: 5 * time.Second})
		answer := make(chan error, 1)
		s.Commit([]store.Change{put(store.Fleet, "a", "3")}, func(err error) { answer <- err })
		time.Sleep(500 * time.Millisecond)
		c.SetFaults(clustertest.Faults{})
		w.coordinator.SetFull(true)
		time.Sleep(4 * time.Second)
		w.coordinator.SetFull(false)
		w.ok(<-answer)
		w.want("fleets", w.all(s, store.Fleet), "a=3")
		w.ok(s.Close())
	})
}

// Large values are stored in pieces, which are deleted together with their record.
func TestPieces(t *testing.T) {
	inBubble(t, func(w *world) {
		s, _ := w.lead(Options{})
		zip := bytes.Repeat([]byte("0123456789abcdef"), 5_000_000/16)
		w.ok(commitNow(s, store.Change{Kind: store.Content, ID: "s/\x00 1", Value: zip}, put(store.Content, "2", "\x00small")))
		w.want("pieces", w.keys("blob/"), 11)
		check := func(s *Store) {
			w.Helper()
			got := map[string][]byte{}
			_, err := s.Load(store.Content, func(id string, value []byte) error { got[id] = value; return nil })
			w.ok(err)
			if !bytes.Equal(got["s/\x00 1"], zip) || string(got["2"]) != "\x00small" || len(got) != 2 {
				w.Fatal("not what was written")
			}
		}
		check(s)
		w.ok(commitNow(s, store.Change{Kind: store.Content, ID: "s/\x00 1", Value: zip}))
		w.want("pieces of the second value", w.keys("blob/"), 11)
		check(s)
		w.ok(s.Close())

		// the next term keeps these pieces, and deletes pieces that no record names
		stray := prefix + "blob/cat/content/s/\x00 1\x00other/000000"
		_, _, err := w.coordinator.Client().Commit(w.Context(), nil, []coord.Change{coord.Put(stray, nil), coord.Put(prefix+"blob/cat/content/3\x00try/000000", nil)})
		w.ok(err)
		s, _ = w.lead(Options{})
		w.want("pieces in the next term", w.keys("blob/"), 11)
		check(s)
		w.ok(commitNow(s, put(store.Content, "s/\x00 1", "small"), store.Delete(store.Content, "2")))
		w.want("pieces of no value", w.keys("blob/"), 0)
		w.want("contents", w.all(s, store.Content), "s/\x00 1=small")
		w.ok(s.Close())
	})
}

// The coordinator and the leader fail at random. Changes that were answered are never lost, and changes that were
// refused never appear. Only changes in progress at the end of a term may do either.
func TestNothingAnsweredIsLost(t *testing.T) {
	for seed := range uint64(200) {
		inBubble(t, func(w *world) {
			random := rand.New(rand.NewPCG(seed, 1))
			model := map[string]string{}   // what must be stored
			maybe := map[string][]string{} // values that may be stored instead
			s, c := w.lead(Options{})
			heal := func() {
				w.coordinator.SetFull(false)
				c.SetFaults(clustertest.Faults{})
				s.Flush()
			}
			check := func() {
				got := map[string]string{}
				_, err := s.Load(store.Fleet, func(id string, value []byte) error { got[id] = string(value); return nil })
				w.ok(err)
				for id := range 5 {
					id := fmt.Sprint(id)
					if got[id] != model[id] && !slices.Contains(maybe[id], got[id]) {
						w.Fatalf("seed %d: %s=%q, answered %q, maybe %q", seed, id, got[id], model[id], maybe[id])
					}
				}
				model, maybe = got, map[string][]string{}
			}
			for step := range 60 {
				switch random.IntN(12) {
				case 0:
					c.SetFaults(clustertest.Faults{Requests: true})
				case 1:
					c.SetFaults(clustertest.Faults{Answers: random.IntN(2) == 0, Late: time.Duration(random.IntN(5)) * time.Second})
				case 2:
					w.coordinator.SetFull(random.IntN(2) == 0)
				case 3:
					w.coordinator.SetFull(false)
					next, way := w.lead(Options{})
					heal()
					s.End()
					s, c = next, way
					check()
				case 4, 5:
					c.SetFaults(clustertest.Faults{Delay: time.Duration(random.IntN(20)) * time.Millisecond})
				default:
					value, a, b := fmt.Sprint(step), fmt.Sprint(random.IntN(5)), fmt.Sprint(random.IntN(5))
					s.Commit([]store.Change{put(store.Fleet, a, value), put(store.Fleet, b, value)}, func(err error) {
						switch {
						case err == nil:
							model[a], model[b] = value, value
						case errors.Is(err, ErrOver):
							maybe[a], maybe[b] = append(maybe[a], value), append(maybe[b], value)
						}
					})
				}
				time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
			}
			heal()
			if len(maybe) > 0 {
				w.Fatalf("seed %d: no term ended, and %v may be there", seed, maybe)
			}
			check()
			s.End()
		})
	}
}
