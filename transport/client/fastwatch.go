package client

import (
	"fmt"
	"time"

	"troupe/messages/wire"
)

// A client gets no error when its datagrams are lost, for example because a NAT has dropped or changed the socket's mapping.
// So after some silence it probes the host: it sends the handshake's packet again, which hosts answer. Without an answer the
// channel is down. Then the program is notified, both sides use the reliable channel, and the handshake begins again.

// probePolicy says when to probe the host, and when the path counts as dead. It counts probes rather than time,
// because the process may have been suspended.
type probePolicy struct {
	quiet time.Duration // silence before the first probe
	every time.Duration // interval between probes
	most  int           // number of unanswered probes after which the path counts as dead
}

var (
	// udpProbes ends after 3.4 s. That is later than the 2 s of silence after which a host follows a
	// client to another port (reliability.md 6).
	udpProbes = probePolicy{quiet: time.Second, every: 200 * time.Millisecond, most: 12}
	// dtlsProbes ends after 2.7 s. A host follows a DTLS client at once.
	dtlsProbes = probePolicy{quiet: 600 * time.Millisecond, every: 150 * time.Millisecond, most: 14}
)

// pauseMax limits the pause between a failed handshake and the next one.
const pauseMax = 30 * time.Second

// watch probes a silent host. It returns ErrFastSilent if the host does not answer, and nil
// when lost is closed or the connection ends.
func (f *fastChannel) watch(v probePolicy, lost <-chan struct{}, question func(dst []byte, seq int32) []byte) error {
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
		case !repeats && !f.c.client.counts(): // some hosts answer a handshake only once
			asked, next = 0, pauseMax
		default:
			return fmt.Errorf("%w for %v", ErrFastSilent, silent.Round(time.Millisecond))
		}
		timer.Reset(next)
	}
}

// counts reports whether the host numbers its packets. Only Troupe hosts do.
func (c *Client) counts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.numbers.on()
}

// down takes the channel down until the next handshake. It notifies the program and the
// host, and may block until the program takes events. It returns false if the channel is
// closed or the connection is ending: then the host has closed the channel because it has lost the connection.
func (f *fastChannel) down(err error) bool {
	f.mu.Lock()
	was, path := f.state, f.path
	if was != fastDown {
		f.wasUp = f.wasUp || was == fastUp
		f.state, f.path, f.err = fastNew, nil, err
	}
	f.mu.Unlock()
	if was == fastDown || f.c.ending() {
		return false
	}
	if path != nil {
		path.close()
	}
	f.askHost()
	f.tellDown()
	return true
}

// askHost asks the host to use only the reliable channel until the next handshake, which may come from another address.
// It sends a -5 over the reliable channel. Hosts that number packets understand that.
func (f *fastChannel) askHost() {
	c := f.c.client
	var h wire.Header
	if c.current.Load() != f.c || !c.counts() || parse(&h, wire.AppendUDPConnect(nil, c.PeerID(), 0)) != nil {
		return
	}
	_, _ = c.offer(f.c.alive, &h, true) // if the buffer is full, the host detects the loss by itself
}
