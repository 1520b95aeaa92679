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

// datagramSizes are sizes of payloads, from the smallest that can contain a number to the largest that a
// client may send (FastPayloadMax).
var datagramSizes = []int{8, 20, 100, 300, 500, 1000, 1200}

// tooLarge is a size that no channel accepts.
const tooLarge = 3000

// way is one direction of a peer's channel.
type way struct {
	tb     TB
	name   string
	s      series
	newest bool // whether an older datagram after a newer one is a failure

	mu      sync.Mutex
	sent    int
	got     int
	seen    map[int]bool
	last    int   // index of the newest received datagram
	highest int32 // number of the newest received datagram, for channels with numbers
	wrong   bool  // a failure was already reported
}

// take compares a received payload with the series.
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

// takeNumbered does what every client does: it drops a datagram whose number is not higher than the highest
// so far (realtime.md 9). So wrong numbers cause losses.
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

// next returns the next payload to send.
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

// channel is one peer's channel with both directions.
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

// send sends n datagrams in each direction, a few milliseconds apart.
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

// share returns the minimum number of n datagrams that must arrive. It subtracts the expected random losses
// and, on a channel where the newest wins, the datagrams that are overtaken. It also subtracts six standard
// deviations and 2 %, because losses are few and not normally distributed.
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

// arrived checks the shares of all channels in both directions.
func (e *datagramEnv) arrived(all ...*channel) {
	e.Helper()
	time.Sleep(e.flight) // until all datagrams in transit have arrived
	for _, c := range all {
		for _, w := range []*way{c.up, c.down} {
			sent, got := w.counts()
			if want := e.share(sent); float64(got) < want*float64(sent) {
				e.Errorf("%s: %d of %d arrived, expected are %.1f %%", w.name, got, sent, 100*want)
			}
		}
	}
}

// alive checks that something arrives in both directions.
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

// datagramsBothWays checks that each datagram arrives at most once and unchanged, that no older one arrives
// after a newer one, and that no more are lost than the network loses.
func datagramsBothWays(e *datagramEnv) {
	c := e.open(1)
	e.send(c, 2000)
	e.arrived(c)
}

// datagramsOfMany checks that peers do not affect each other.
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

// datagramTooLarge checks that an oversized datagram is not sent, and that later ones are.
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

// datagramGarbage checks that invalid datagrams are counted, are delivered to nobody and do no harm.
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

// datagramBlackPath checks a path that loses everything: sending never blocks, no datagram arrives late, and
// the channel works again when the path does.
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

// datagramIdle checks that neither side sends anything on an idle channel.
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

// datagramClosed checks that nothing is sent or delivered after the host's end is closed.
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
