package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
)

// A dead process is detected when its lease has expired: six seconds after the last renewal. It renews the lease every
// two seconds.
func TestDeadProcess(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		c.kill()
		w.within("the loss", w.until(a, "c lost", state("c", cluster.Lost)), 4*time.Second, 6*time.Second)
		w.see(b, "a live, b live, c suspect; a leads")
		w.until(b, "c forgotten", func(v *cluster.View) bool {
			b.node.SetLoad(coord.Load{Players: int(time.Now().Unix())})
			return v.Member("c") == nil
		})
		if r := w.reapings(); len(r) != 1 {
			t.Errorf("reaped: %+v", r)
		}
	})
}

// After a leader is killed, another node leads within eight seconds and reaps it.
func TestDeadLeader(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		a.kill()
		took := w.until(b, "another leader", func(v *cluster.View) bool { return v.Leader != "" && v.Leader != "a" })
		w.within("the election", took, 4*time.Second, 6200*time.Millisecond)
		leader := map[string]*host{"b": b, "c": c}[b.node.View().Leader]
		w.within("the loss", w.until(leader, "a lost", state("a", cluster.Lost)), 0, 0)
	})
}

// A silent machine is reaped 15 s after its lease has expired. The leader asks it once a second, so the
// loss may be detected up to a second later.
func TestSilentMachine(t *testing.T) {
	newWorld(t, func(w *world) {
		a, _, c := w.three()
		c.freeze(true)
		w.within("the suspicion", w.until(a, "c suspect", state("c", cluster.Suspect)), 4*time.Second, 6*time.Second)
		w.within("the loss", w.until(a, "c lost", state("c", cluster.Lost)), 15*time.Second, 16*time.Second)
		c.freeze(false)
		w.within("the return", w.until(a, "c live", state("c", cluster.Live)), 0, 2*time.Second)
	})
}

func TestHandOver(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, _ := w.three()
		a.node.SetDraining(true)
		took := w.until(b, "another leader", func(v *cluster.View) bool { return v.Leader != "" && v.Leader != "a" })
		w.within("the hand-over", took, 0, 200*time.Millisecond)
		if m := b.node.View().Member("a"); m.Takes() || m.State != cluster.Live {
			t.Errorf("%+v", m)
		}
		a.node.SetDraining(false)
		time.Sleep(time.Second)
		if m := b.node.View().Member("a"); !m.Takes() || b.node.View().Leader == "a" {
			t.Errorf("%+v, %s leads", m, b.node.View().Leader)
		}
	})
}

// CL-37: a node that was closed leaves no lease, and therefore no records.
func TestCloseLeavesNothing(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		a.node.SetLoad(coord.Load{Players: 3})
		time.Sleep(time.Second)
		a.node.Close()
		w.within("the next term", w.until(b, "another leader", func(v *cluster.View) bool { return v.Leader != "" && v.Leader != "a" }), 0, 200*time.Millisecond)
		b.node.Close()
		c.node.Close()
		if got := fmt.Sprint(w.keys(string(keys))); got != "[meta]" {
			t.Error(got)
		}
	})
}

// CL-18: each row of the table of verdicts. In all rows but the first, the node is disconnected from the coordinator.
func TestLossTable(t *testing.T) {
	for _, row := range []struct {
		what  string
		fault func(w *world, c *host)
		want  cluster.State // state after 40 s, as the leader a knows it
		reaps int
	}{
		{"all refused: gone", func(_ *world, c *host) { c.kill() }, cluster.Lost, 1},
		{"silence to all", func(w *world, c *host) {
			for _, name := range []string{"a", "b", "d"} {
				w.between(name, "c", true)
			}
		}, cluster.Lost, 1},
		{"it answers all", func(*world, *host) {}, cluster.Adrift, 0},
		{"it answers the leader alone", func(w *world, _ *host) { w.between("b", "c", true); w.between("d", "c", true) }, cluster.Adrift, 0},
		{"one prober's broken path", func(w *world, _ *host) { w.between("a", "c", true) }, cluster.Adrift, 0},
		{"two broken paths", func(w *world, _ *host) { w.between("a", "c", true); w.between("b", "c", true) }, cluster.Adrift, 0},
		{"the leader is cut off from all, and so cannot know", func(w *world, _ *host) {
			for _, name := range []string{"b", "c", "d"} {
				w.between("a", name, true)
			}
		}, cluster.Suspect, 0},
		{"silent for less than 15 s", func(w *world, c *host) {
			c.freeze(true)
			w.work.Go(func() { time.Sleep(17 * time.Second); c.freeze(false) })
		}, cluster.Adrift, 0},
		{"silence to some, refusals to others: the process is gone, and the path to the leader is broken", func(w *world, c *host) {
			c.kill()
			w.between("a", "c", true)
		}, cluster.Lost, 1},
	} {
		t.Run(row.what, func(t *testing.T) {
			newWorld(t, func(w *world) {
				a, _, c := w.three()
				w.add("d").start()
				c.client.SetFaults(clustertest.Faults{Requests: true, Answers: true})
				row.fault(w, c)
				begin := time.Now()
				for time.Since(begin) < 40*time.Second {
					time.Sleep(time.Second)
				}
				if m := a.node.View().Member("c"); m.State != row.want {
					t.Errorf("%v, want %v", m.State, row.want)
				}
				if r := w.reapings(); len(r) != row.reaps {
					t.Errorf("reaped: %+v", r)
				} else if row.reaps > 0 {
					w.within("the loss", r[0].at.Sub(begin), 4*time.Second, 25*time.Second)
				}
			})
		})
	}
}

func TestForget(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		c.client.SetFaults(clustertest.Faults{Requests: true, Answers: true})
		w.until(a, "c adrift", state("c", cluster.Adrift))
		if err := b.node.Forget(w.Context(), "c"); err == nil {
			t.Error("b does not lead")
		}
		if err := a.node.Forget(w.Context(), "b"); err == nil {
			t.Error("b is live")
		}
		if err := a.node.Forget(w.Context(), "x"); err == nil {
			t.Error("nobody knows x")
		}
		begin := time.Now()
		if err := a.node.Forget(w.Context(), "c"); err != nil || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		w.see(a, "a live, b live, c lost; a leads")
		c.client.SetFaults(clustertest.Faults{})
		w.until(a, "c live", state("c", cluster.Live))
	})
}

// A node that died together with the leader, and that no live node knows, is reaped 15 s after the next leader has found
// its game session.
func TestOrphan(t *testing.T) {
	newWorld(t, func(w *world) {
		put(w.T, w.admin, keys.HostGame("x", "tag"), "")
		put(w.T, w.admin, keys.HostGame("x-1", "tag"), "")
		a, _, _ := w.three()
		time.Sleep(15 * time.Second)
		w.see(a, "a live, b live, c live, x lost, x-1 lost; a leads")
		if left := w.keys(keys.Hosts()); len(left) != 0 {
			t.Error(left)
		}
	})
	newWorld(t, func(w *world) {
		backup := put(w.T, w.admin, keys.HostGame("x", "tag"), "")
		w.add("a").start()
		for range 2 {
			time.Sleep(20 * time.Second)
			if left := w.keys(keys.Hosts()); len(left) != 0 {
				t.Error(left)
			}
			w.store.SetBack(backup, 1_000_000_000)
		}
	})
}

// An outage of the coordinator of one minute ends no term and no registration.
func TestCoordinatorAway(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		before := a.node.View()
		w.store.SetAway(true)
		time.Sleep(time.Minute)
		w.store.SetAway(false)
		time.Sleep(10 * time.Second)
		for _, h := range []*host{a, b, c} {
			v := h.node.View()
			w.see(h, "a live, b live, c live; a leads")
			if v.Term != before.Term || v.Member("b").Incarnation != before.Member("b").Incarnation {
				t.Errorf("%+v\nbefore %+v", v, before)
			}
		}
	})
}

// A node whose lease was revoked early registers again and is not reaped. After a restore of the coordinator, this holds
// for all nodes.
func TestRevokedAndSetBack(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		first := c.node.View().Self.Incarnation
		w.store.RevokeEarly(keys.Node("c"))
		took := w.until(a, "c anew", func(v *cluster.View) bool {
			m := v.Member("c")
			return m.State == cluster.Live && m.Incarnation > first
		})
		w.within("the registration", took, 0, 0)

		second := c.node.View().Self.Incarnation
		w.store.SetBack(w.store.Revision(), 1_000_000_000)
		time.Sleep(2 * time.Second)
		for _, h := range []*host{a, b, c} {
			v := h.node.View()
			if v.Leader == "" || v.Member("c").Incarnation <= second+999_999_999 || v.Member("c").State != cluster.Live {
				t.Errorf("%s: %+v", h.name, v)
			}
		}
		back := w.store.Revision() - 2
		w.store.SetBack(back, 0)
		time.Sleep(10 * time.Second)
		leader := a.node.View().Leader
		for _, h := range []*host{a, b, c} {
			w.see(h, "a live, b live, c live; "+leader+" leads")
		}
		if r := w.reapings(); len(r) != 0 {
			t.Errorf("reaped: %+v", r)
		}
	})
}

func TestLeaderWaits(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, _ := w.three()
		if _, _, self, err := a.node.Leader(w.Context()); !self || err != nil {
			t.Error(self, err)
		}
		a.kill()
		time.Sleep(4 * time.Second)
		w.until(b, "no leader", func(v *cluster.View) bool { return v.Leader == "" })
		answers := make(chan error, 1001)
		for range 1001 {
			go func() {
				_, _, _, err := b.node.Leader(w.Context())
				answers <- err
			}()
		}
		if err := <-answers; err == nil {
			t.Error("1001 calls wait")
		}
		for range 1000 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
	newWorld(t, func(w *world) {
		a := w.add("a")
		begin := time.Now()
		if _, _, _, err := a.node.Leader(w.Context()); err == nil || time.Since(begin) != 8*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if _, _, _, err := a.node.Leader(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// When Lead returns because the store reports that the term is over, the node ends the term. The next term has another
// number.
func TestTermEndsEarly(t *testing.T) {
	newWorld(t, func(w *world) {
		a := w.add("a")
		terms := make(chan int64, 10)
		end := make(chan struct{})
		a.options.Lead = func(ctx context.Context, term int64) {
			terms <- term
			select {
			case <-end:
			case <-ctx.Done():
			}
		}
		a.renew()
		a.start()
		first := <-terms
		if !a.node.View().Leads || a.node.View().Term != first {
			t.Errorf("%+v", a.node.View())
		}
		a.client.SetFaults(clustertest.Faults{Requests: true})
		end <- struct{}{}
		time.Sleep(time.Millisecond)
		if a.node.View().Leads {
			t.Error("its owner has ended the term")
		}
		a.client.SetFaults(clustertest.Faults{})
		if second := <-terms; second <= first {
			t.Errorf("term %d, then %d", first, second)
		}
	})
}

// A node has registered again but got no answer. The leader finds it by its previous incarnation, and learns the new one
// later.
func TestRegistrationWithoutAnswer(t *testing.T) {
	for away, want := range map[time.Duration]string{time.Second: "a live, b live, c live; a leads", 30 * time.Second: "a live, b live, c adrift; a leads"} {
		newWorld(t, func(w *world) {
			a, _, c := w.three()
			first := c.node.View().Self.Incarnation
			const delay = 100 * time.Millisecond
			c.client.SetFaults(clustertest.Faults{Delay: delay})
			time.Sleep(3 * time.Second)
			w.store.RevokeEarly(keys.Node("c"))
			time.Sleep(5*delay + delay/2) // time for its watch, an attempt under the old lease, a new lease, and half of the next attempt
			c.client.SetFaults(clustertest.Faults{Delay: delay, Answers: true})
			w.until(a, "c anew", func(v *cluster.View) bool {
				m := v.Member("c")
				return m.State == cluster.Live && m.Incarnation > first
			})
			c.client.SetFaults(clustertest.Faults{Requests: true, Answers: true})
			time.Sleep(away)
			if c.node.View().Self.Incarnation != first {
				t.Error("it got an answer")
			}
			w.see(a, want)
			c.client.SetFaults(clustertest.Faults{})
			time.Sleep(3 * time.Second)
			w.see(a, "a live, b live, c live; a leads")
			if v := c.node.View(); v.Self.Incarnation != a.node.View().Member("c").Incarnation {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A leader that has missed a later incarnation of a node learns it from the index. It does not conclude from the node's
// refusals that the process is dead.
func TestMissedIncarnation(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b := w.add("a"), w.add("b")
		a.start()
		b.start()
		first := b.node.View().Self.Incarnation
		a.client.SetFaults(clustertest.Faults{Break: true})
		w.store.RevokeEarly(keys.Node("b"))
		time.Sleep(time.Second)
		second := b.node.View().Self.Incarnation
		put(w.T, w.admin, keys.HostGame("b", "tag"), string(coord.Encode(coord.HostGame{Incarnation: second, Peers: "b:1"})))
		b.client.SetFaults(clustertest.Faults{Requests: true, Answers: true})
		time.Sleep(10 * time.Second)
		if err := w.admin.Compact(w.Context(), w.store.Revision()); err != nil { // node a misses the registrations that begin and end in the meantime
			t.Fatal(err)
		}
		a.client.SetFaults(clustertest.Faults{})
		time.Sleep(30 * time.Second)
		w.see(a, "a live, b adrift; a leads")
		if m := a.node.View().Member("b"); m.Incarnation != second || second == first {
			t.Errorf("%+v", m)
		}
		if r := w.reapings(); len(r) != 0 {
			t.Errorf("reaped: %+v", r)
		}
	})
}
