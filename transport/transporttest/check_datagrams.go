package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// datagramSizes are those of payloads: from the least that carries a number to the
// most a client may send (FastPayloadMax).
var datagramSizes = []int{8, 20, 100, 300, 500, 1000, 1200}

// tooLarge is over what any channel takes.
const tooLarge = 3000

// way is one direction of one peer's channel.
type way struct {
	tb     TB
	name   string
	s      series
	newest bool // older ones after newer ones are a failure

	mu      sync.Mutex
	sent    int
	got     int
	seen    map[int]bool
	last    int   // index of the newest that came
	highest int32 // number of it, of those that are numbered
	wrong   bool  // something was, and was reported
}

// take holds one payload against the series.
func (w *way) take(payload []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := -1
	if len(payload) >= 8 {
		i = int(binary.BigEndian.Uint32(payload[4:]))
	}
	switch {
	case w.wrong:
		return
	case i < 0 || i >= w.sent || !bytes.Equal(payload, w.s.message(i)):
		w.tb.Errorf("%s: got what was not sent: %s", w.name, describe(payload))
	case w.seen[i]:
		w.tb.Errorf("%s: datagram %d came twice", w.name, i)
	case w.newest && i < w.last:
		w.tb.Errorf("%s: datagram %d came after %d", w.name, i, w.last)
	default:
		w.seen[i], w.last = true, max(w.last, i)
		w.got++
		return
	}
	w.wrong = true
}

// takeNumbered does what every client does: what is not newer than the newest is
// dropped (realtime.md 9). So numbers that are wrong cost deliveries.
func (w *way) takeNumbered(number int32, payload []byte) {
	if number >= 0 {
		w.mu.Lock()
		old := number <= w.highest
		w.highest = max(w.highest, number)
		w.mu.Unlock()
		if old {
			return
		}
	}
	w.take(payload)
}

// next returns the payload to send next.
func (w *way) next() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	return w.s.message(w.sent - 1)
}

func (w *way) counts() (sent, got int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent, w.got
}

// channel is one peer with both ways.
type channel struct {
	*DatagramPair
	up, down *way
}

func (e *datagramEnv) open(id int) *channel {
	e.Helper()
	newWay := func(name string, id int) *way {
		return &way{tb: e.TB, name: name, s: series{id, datagramSizes}, newest: e.channel.NewestWins(),
			seen: make(map[int]bool), last: -1, highest: -1}
	}
	c := &channel{up: newWay("client to host", 2*id), down: newWay("host to client", 2*id+1)}
	ctx, cancel := context.WithTimeout(context.Background(), e.patience)
	defer cancel()
	var err error
	if c.DatagramPair, err = e.server.Dial(ctx, c.up.take, c.down.takeNumbered); err != nil {
		e.Fatalf("dial: %v", err)
	}
	return c
}

// send sends n datagrams either way, a few milliseconds apart.
func (e *datagramEnv) send(c *channel, n int) {
	e.Helper()
	for range n {
		e.atOnce("sending", func() {
			if !c.Up(c.up.next()) || !c.Down(c.down.next()) {
				e.Errorf("a datagram was not sent")
			}
		})
		time.Sleep(2 * time.Millisecond)
	}
}

// share is what must arrive at least of n datagrams: what is lost by chance is
// lost, and of a channel where the newest wins also what is overtaken; six
// standard deviations less and two in a hundred, for losses are few and far from
// normal.
func (e *datagramEnv) share(n int) float64 {
	p := 1 - e.cond.Loss
	if e.channel.NewestWins() {
		p *= 1 - e.cond.Reorder
	}
	if p == 1 {
		return 1
	}
	return p - 6*math.Sqrt(p*(1-p)/float64(n)) - 0.02
}

// arrived checks the shares of all channels.
func (e *datagramEnv) arrived(all ...*channel) {
	e.Helper()
	time.Sleep(e.flight) // for what is on its way
	for _, c := range all {
		for _, w := range []*way{c.up, c.down} {
			sent, got := w.counts()
			if want := e.share(sent); float64(got) < want*float64(sent) {
				e.Errorf("%s: %d of %d arrived, expected are %.1f %%", w.name, got, sent, 100*want)
			}
		}
	}
}

// alive checks that something arrives either way.
func (e *datagramEnv) alive(c *channel) {
	e.Helper()
	_, up := c.up.counts()
	_, down := c.down.counts()
	e.await("a datagram arrives at either end", func() bool {
		e.send(c, 1)
		_, nowUp := c.up.counts()
		_, nowDown := c.down.counts()
		return nowUp > up && nowDown > down || e.Failed()
	})
}

// datagramsBothWays: at most once, never an older after a newer, bytes intact, and
// no more lost than the network loses.
func datagramsBothWays(e *datagramEnv) {
	c := e.open(1)
	e.send(c, 2000)
	e.arrived(c)
}

// datagramsOfMany: peers do not get into each other's way.
func datagramsOfMany(e *datagramEnv) {
	var all []*channel
	var senders sync.WaitGroup
	for i := range 12 {
		c := e.open(i)
		all = append(all, c)
		senders.Go(func() { e.send(c, 150) })
	}
	senders.Wait()
	e.arrived(all...)
}

// datagramTooLarge: it is not sent, and what follows is.
func datagramTooLarge(e *datagramEnv) {
	c := e.open(1)
	e.alive(c)
	for range 3 {
		if c.Down(make([]byte, tooLarge)) {
			e.Errorf("the host sent a datagram of %d bytes", tooLarge)
		}
	}
	e.alive(c)
}

// datagramGarbage: it is counted, reaches nobody and harms nobody.
func datagramGarbage(e *datagramEnv) {
	c, other := e.open(1), e.open(2)
	e.alive(c)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		before := e.trouble()
		e.await("garbage is counted", func() bool {
			b := make([]byte, 1+rng.IntN(1300))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			c.Raw(b)
			time.Sleep(e.flight / 10)
			return e.trouble() > before || e.Failed()
		})
		e.alive(other)
	}
	e.alive(c)
}

// datagramBlackPath: sending never waits, nothing comes late, and the channel
// works again when the path does.
func datagramBlackPath(e *datagramEnv) {
	c := e.open(1)
	e.alive(c)
	time.Sleep(e.awaitIdle)
	_, up := c.up.counts()
	_, down := c.down.counts()
	e.net.BlockAll(true)
	e.send(c, 500)
	e.net.BlockAll(false)
	time.Sleep(e.awaitIdle)
	if _, got := c.up.counts(); got != up {
		e.Errorf("%d datagrams to the host came through a black path", got-up)
	}
	if _, got := c.down.counts(); got != down {
		e.Errorf("%d datagrams to the client came through a black path", got-down)
	}
	e.alive(c)
}

// datagramIdle: nobody sends anything on an idle channel.
func datagramIdle(e *datagramEnv) {
	c := e.open(1)
	e.alive(c)
	time.Sleep(time.Minute)
	before := e.net.Stats().Sent
	time.Sleep(time.Minute)
	if n := e.net.Stats().Sent - before; n != 0 {
		e.Errorf("an idle channel sent %d packets in a minute", n)
	}
	e.alive(c)
}

// datagramClosed: after the host's end is closed nothing is sent or handed up.
func datagramClosed(e *datagramEnv) {
	c, other := e.open(1), e.open(2)
	e.alive(c)
	c.Close()
	time.Sleep(e.awaitIdle)
	_, up := c.up.counts()
	for range 10 {
		c.Up(c.up.next())
		if c.Down(c.down.next()) {
			e.Errorf("a closed end sent a datagram")
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(e.awaitIdle)
	if _, got := c.up.counts(); got != up {
		e.Errorf("%d datagrams reached a closed end", got-up)
	}
	e.alive(other)
}
