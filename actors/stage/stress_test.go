package stage_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

// Ways of sending a load.
const (
	tell = iota
	inOrder
	post
	postRun
	lanes
)

// load is a message that counts its deliveries.
type load struct {
	producer, lane, seq int
	fate                *atomic.Int32 // how often it was delivered or became a dead letter
	lost                *atomic.Int64
}

// OnDeadLetter implements stage.DeadLetter.
func (l load) OnDeadLetter() { l.fate.Add(1); l.lost.Add(1) }

// taker is an actor that checks the order of loads per producer and lane.
type taker struct {
	probe
	t      *testing.T
	inside atomic.Int32
	last   map[[2]int]int
	got    int
	panics int // number of the message at which it panics
}

// settled is a message. Its channel is closed when a taker receives it, or when it becomes a dead letter.
type settled chan struct{}

// OnDeadLetter implements stage.DeadLetter.
func (s settled) OnDeadLetter() { close(s) }

// Receive implements stage.Actor.
func (k *taker) Receive(c *stage.Context, msg any) {
	assert.Equal(k.t, "two goroutines in one actor", k.inside.Add(1), 1)
	defer k.inside.Add(-1)
	if done, ok := msg.(settled); ok {
		close(done)
		return
	}
	l := msg.(load)
	if l.fate.Add(1) != 1 {
		k.t.Errorf("%+v has more than one fate", l)
	}
	lane := l.lane
	if lane == inOrder || lane == postRun {
		lane = post // these are delivered in order with the data
	}
	key := [2]int{l.producer, lane}
	if last, ok := k.last[key]; ok && l.seq <= last {
		k.t.Errorf("producer %d: %d after %d", l.producer, l.seq, last)
	}
	k.last[key] = l.seq
	switch k.got++; {
	case k.got == k.panics:
		panic("enough")
	case k.got%701 == 0:
		c.Yield()
	case k.got%997 == 0:
		runtime.Gosched()
	case k.got == 5000:
		time.Sleep(25 * time.Millisecond) // loses the shard
	}
}

// produce sends n loads. It returns how many were refused and so still belong to the producer.
func produce(ref *stage.Ref, producer, n int, lost *atomic.Int64, fates []atomic.Int32) (kept int) {
	for seq := range n {
		l := load{producer, rand.IntN(lanes), seq, &fates[seq], lost}
		switch l.lane {
		case tell:
			ref.Tell(l)
		case inOrder:
			ref.TellInOrder(l)
		default:
			send := ref.Post
			if l.lane == postRun {
				send = ref.PostRun
			}
			err := send(l, seq%100)
			for ; err == stage.ErrFull; err = send(l, seq%100) {
				ref.AwaitRoom(time.Second)
			}
			if err != nil {
				kept++
				l.fate.Add(1)
			}
		}
	}
	return kept
}

// Each message is delivered exactly once and in order, or is refused, or becomes a dead letter exactly once.
func TestStress(t *testing.T) {
	const producers = 6
	n := 20000
	if testing.Short() || raceDetector {
		n = 5000
	}
	for name, end := range map[string]func(refs []*stage.Ref){
		"to the end": nil,
		"stopped": func(refs []*stage.Ref) {
			time.Sleep(5 * time.Millisecond)
			for _, r := range refs {
				r.Stop()
			}
		},
		"crashed": func(refs []*stage.Ref) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := stagetest.Start(t, func(o *stage.Options) { o.Shards = 2; o.Flush.Interval = stage.Adaptive })
			var refs []*stage.Ref
			var takers []*taker
			for range 3 {
				ref := s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{MessagesMax: 500, BytesMax: 20000})
				k := &taker{t: t, last: make(map[[2]int]int)}
				if name == "crashed" {
					k.panics = n
				}
				refs, takers = append(refs, ref), append(takers, k)
				s.SpawnAt(ref, k)
			}
			var lost, kept atomic.Int64
			var all sync.WaitGroup
			fates := make([][]atomic.Int32, 3*producers)
			for i := range fates {
				fates[i] = make([]atomic.Int32, n)
				all.Go(func() { kept.Add(int64(produce(refs[i%3], i, n, &lost, fates[i]))) })
			}
			if end != nil {
				end(refs)
			}
			all.Wait()
			for _, r := range refs {
				for r.Depth() > 0 {
					time.Sleep(time.Millisecond)
				}
			}
			if name == "crashed" {
				s.Panics = 3
			}
			for _, r := range refs { // wait until the messages still in progress are finished
				done := make(settled)
				r.Tell(done)
				<-done
			}
			s.Close()
			for i := range fates {
				for seq := range fates[i] {
					if f := fates[i][seq].Load(); f != 1 {
						t.Fatalf("producer %d, message %d: %d fates", i, seq, f)
					}
				}
			}
			got := 0
			for _, k := range takers {
				got += k.got
			}
			if sum := got + int(lost.Load()+kept.Load()); sum != 3*producers*n {
				t.Errorf("%d of %d", sum, 3*producers*n)
			}
			if end == nil && (lost.Load() != 0 || kept.Load() != 0) {
				t.Errorf("%d lost, %d refused", lost.Load(), kept.Load())
			}
			t.Logf("%d delivered, %d dead letters, %d refused", got, lost.Load(), kept.Load())
		})
	}
}

// Actors start and stop while others send to them. Each message is delivered, refused, or becomes a dead
// letter, and there is one Exited for each child.
func TestStressOfSpawns(t *testing.T) {
	const rounds, talkers = 300, 4
	s := stagetest.Start(t, func(o *stage.Options) { o.Shards = 2 })
	exited := make(map[*stage.Ref]int)
	all := make(chan struct{})
	parent := s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) {
		e := msg.(stage.Exited)
		if exited[e.Ref]++; len(exited) == rounds {
			close(all)
		}
	}})
	var lost atomic.Int64
	fates := make([]atomic.Int32, rounds*talkers*10)
	var wg sync.WaitGroup
	for i := range rounds {
		child := s.NewRef()
		k := &taker{t: t, last: make(map[[2]int]int), panics: 1 + i%7}
		parent.Tell(do(func(c *stage.Context) { c.Spawn(child, k) }))
		for p := range talkers {
			wg.Go(func() {
				at := (i*talkers + p) * 10
				produce(child, p, 10, &lost, fates[at:at+10])
				if i%3 == 0 {
					child.Stop()
				}
			})
		}
	}
	wg.Wait()
	<-all
	s.Panics = s.Count.ActorPanics.Load() // some children were stopped before they could panic
	s.Close()
	for i := range fates {
		if f := fates[i].Load(); f != 1 {
			t.Fatalf("message %d: %d fates", i, f)
		}
	}
	for ref, n := range exited {
		if n != 1 {
			t.Errorf("%s exited %d times", ref.Name(), n)
		}
	}
}
