package client

import (
	"fmt"
	"time"

	"troupe/messages/wire"
)

// Nobody tells a client that its datagrams are lost: a NAT that has given its
// socket another port or address, or has forgotten it, drops what the host sends
// without a word. So when nothing has come for a while, the packet of the handshake
// is sent again, which hosts answer, and when no answer comes, the channel is down:
// the program is told, its messages go by the reliable channel, the host is asked to
// do the same, and the handshake begins anew.

// vigil says when the host is asked, and given up. It counts questions and not
// time, so that a process that was stopped for a while asks first.
type vigil struct {
	quiet time.Duration // nothing has come for so long: the first question
	every time.Duration // between two
	most  int           // after so many without an answer the way is dead
}

var (
	// udpVigil is over after 3.4 s. A host follows a client to another port after 2 s
	// of silence (reliability.md 6), and then the channel has not been down at all.
	udpVigil = vigil{quiet: time.Second, every: 200 * time.Millisecond, most: 12}
	// dtlsVigil is over after 2.7 s. A host follows at once.
	dtlsVigil = vigil{quiet: 600 * time.Millisecond, every: 150 * time.Millisecond, most: 14}
)

// pauseMax bounds the wait before another handshake after one that failed.
const pauseMax = 30 * time.Second

// watch asks the host whenever it is silent, and returns when it does not answer
// any more, with ErrFastSilent; or when lost is closed or the connection has ended,
// without an error.
func (f *fastChannel) watch(v vigil, lost <-chan struct{}, question func(dst []byte, seq int32) []byte) error {
	f.mu.Lock()
	f.heard = time.Now()
	f.mu.Unlock()
	timer := time.NewTimer(v.quiet)
	defer timer.Stop()
	for asked := 0; ; {
		select {
		case <-timer.C:
		case <-lost:
			return nil
		case <-f.c.alive.Done():
			return nil
		}
		f.mu.Lock()
		silent, repeats := time.Since(f.heard), f.repeats
		f.mu.Unlock()
		next := v.every
		switch {
		case silent < v.quiet:
			asked, next = 0, v.quiet-silent
		case asked < v.most:
			asked++
			f.send(question)
		case !repeats && !f.c.client.counts(): // it may be a host that answers once
			asked, next = 0, pauseMax
		default:
			return fmt.Errorf("%w for %v", ErrFastSilent, silent.Round(time.Millisecond))
		}
		timer.Reset(next)
	}
}

// counts reports whether the host counts, and so is one of Troupe's.
func (c *Client) counts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.numbers.on()
}

// down takes the channel down until the next handshake, and tells the program and
// the host. It may wait for the program. False: it is down for good, or the
// connection has ended.
func (f *fastChannel) down(err error) bool {
	f.mu.Lock()
	was, path := f.state, f.path
	if was != fastDown {
		f.state, f.path, f.err = fastNew, nil, err
	}
	f.mu.Unlock()
	if was == fastDown || f.c.alive.Err() != nil {
		return false
	}
	if path != nil {
		path.close()
	}
	f.askHost()
	f.tellDown()
	return true
}

// askHost asks the host, by the reliable channel, to send nothing by the fast one
// until there was a handshake, for which it may then come from another address: a -5
// there says so to hosts that count.
func (f *fastChannel) askHost() {
	c := f.c.client
	var h wire.Header
	if c.current.Load() != f.c || !c.counts() || parse(&h, wire.AppendUDPConnect(nil, c.PeerID(), 0)) != nil {
		return
	}
	_, _ = c.offer(f.c.alive, &h, true) // without room the host finds out by itself
}
