package actorstest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"troupe/actors/connection"
	"troupe/messages"
	"troupe/messages/wire"
)

// Link is a connection whose peer is a list. It follows the contract of transport.Conn: Close writes the queued data,
// and Ended is called exactly once, at the very end and from its own goroutine.
type Link struct {
	frames *Frames
	opened time.Time

	mu       sync.Mutex
	handle   *connection.Handle
	source   wire.Source
	sends    []*wire.Frame
	stalled  bool
	silent   bool
	lingers  bool
	ended    bool
	loggedIn bool
	acked    uint64 // returned by Reached; Slow sets it
	stuck    bool
	got      []string
	bytes    int
	reason   messages.CloseReason
	closedAt time.Duration
	pings    []time.Duration
	numbers  []Numbers
	result   wire.LoginResult
	marks    []uint64
}

// Numbers are the message numbers that a frame carries for a client that uses the extension.
type Numbers struct{ RelSeq, Ack uint64 }

// Append implements wire.Sink.
func (l *Link) Append(f *wire.Frame) bool {
	l.frames.Track(f)
	l.bytes += f.Len()
	l.got = append(l.got, describe(f.Unit()))
	if f.OpCode() == wire.OpLoginResponse {
		l.result = resultOf(f)
	}
	return true
}

// AppendNumbered implements wire.Sink.
func (l *Link) AppendNumbered(f *wire.Frame, relSeq, ack uint64) bool {
	l.numbers = append(l.numbers, Numbers{relSeq, ack})
	if relSeq == 0 { // an ack packet
		l.frames.Track(f)
		return true
	}
	return l.Append(f)
}

// Mark implements wire.Sink.
func (l *Link) Mark(n uint64) bool {
	l.marks = append(l.marks, n)
	return true
}

// LoginResult returns the answer to the login.
func (l *Link) LoginResult() wire.LoginResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.result
}

// resultOf parses a LOGIN_RESPONSE that the host has built.
func resultOf(f *wire.Frame) (r wire.LoginResult) {
	var h wire.Header
	packet, err := wire.SplitUnit(f.Unit())
	if err == nil {
		err = h.Parse(packet)
	}
	if err == nil {
		r, err = wire.ParseLoginResult(h.Inner)
	}
	if err != nil {
		panic(err)
	}
	return r
}

// Numbers returns the numbers of the numbered frames since the last call.
func (l *Link) Numbers() []Numbers {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.numbers
	l.numbers = nil
	return n
}

// SetSource implements player.Link.
func (l *Link) SetSource(s wire.Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.source = s
	}
}

// Flush implements player.Link.
func (l *Link) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
}

func (l *Link) write() {
	if l.ended || l.stalled {
		return
	}
	for _, f := range l.sends {
		l.Append(f)
		f.Release()
	}
	l.sends = nil
	if l.source != nil {
		for l.source.Drain(l) {
		}
	}
}

// Send implements connection.Link.
func (l *Link) Send(f *wire.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		f.Release()
		return
	}
	l.sends = append(l.sends, f)
}

// Ping implements connection.Link. The peer echoes the payload at once unless it is silent.
func (l *Link) Ping(payload []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pings = append(l.pings, time.Since(l.opened))
	if !l.silent && !l.ended {
		go l.handle.Pong(slices.Clone(payload))
	}
}

// Reached implements connection.Link.
func (l *Link) Reached() (acked uint64, ping bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked, !l.stuck
}

// PongsInOrder implements player.Link.
func (l *Link) PongsInOrder() bool { return true }

// Slow sets how many bytes of output the peer's system has acknowledged. stuck says that a ping has not reached it yet.
func (l *Link) Slow(acked uint64, stuck bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked, l.stuck = acked, stuck
}

// LoggedIn implements connection.Link.
func (l *Link) LoggedIn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loggedIn = true
}

// Close implements player.Link.
func (l *Link) Close(reason messages.CloseReason) {
	l.mu.Lock()
	l.write()
	first := !l.ended && l.reason == 0
	if first {
		l.reason, l.closedAt = reason, time.Since(l.opened)
	}
	lingers := l.lingers
	l.mu.Unlock()
	if first && !lingers {
		l.end(false, reason.String())
	}
}

// end ends the connection, no matter which side caused it.
func (l *Link) end(clean bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended, l.source = true, nil
	for _, f := range l.sends {
		f.Release()
	}
	l.sends = nil
	if h := l.handle; h != nil {
		go h.Ended(clean, why)
	}
}

// Stall stops the peer from reading, or lets it continue.
func (l *Link) Stall(on bool) {
	l.mu.Lock()
	l.stalled = on
	l.write()
	l.mu.Unlock()
}

// Silence stops the peer from answering pings.
func (l *Link) Silence() {
	l.mu.Lock()
	l.silent = true
	l.mu.Unlock()
}

// Linger delays the end of the connection after the host has closed it, as a slow peer would. The test must end the
// connection.
func (l *Link) Linger() {
	l.mu.Lock()
	l.lingers = true
	l.mu.Unlock()
}

// Take returns what the peer has received since the last Take.
func (l *Link) Take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got
	l.got = nil
	return got
}

// Closed returns the reason with which the host closed the connection, or 0 if it did not. The second result is the
// time of the close since the connection was opened.
func (l *Link) Closed() (messages.CloseReason, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason, l.closedAt
}

// Pings returns the times at which pings were sent, since the connection was opened.
func (l *Link) Pings() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]time.Duration(nil), l.pings...)
}

// describe describes one packet as text.
func describe(unit []byte) string {
	packet, err := wire.SplitUnit(unit)
	if err != nil {
		return err.Error()
	}
	var h wire.Header
	if err := h.Parse(packet); err != nil {
		return err.Error()
	}
	channel := ""
	if !h.Reliable {
		channel = "fast "
	}
	switch h.OpCode {
	case wire.OpLoginResponse:
		r, err := wire.ParseLoginResult(h.Inner)
		switch {
		case err != nil || h.Command != wire.CommandLoginResult:
			return fmt.Sprint("broken login result ", err)
		case !r.Success:
			return "refused"
		case r.PeerID != h.TargetPlayer:
			return fmt.Sprintf("two peer ids: %d, %d", r.PeerID, h.TargetPlayer)
		}
		return fmt.Sprintf("login %d", r.PeerID)
	case wire.OpGroupMembershipUpdate:
		m, err := wire.ParseMembership(h.Inner)
		if err != nil || h.Command != wire.CommandGroupMembershipUpdate {
			return fmt.Sprint("broken membership ", err)
		}
		return fmt.Sprintf("%sgroup %d is %v from %d to %d", channel, m.Group, m.Players, h.Sender, h.TargetPlayer)
	case wire.OpPingResult:
		return channel + "pong"
	}
	target := fmt.Sprintf("player %d", h.TargetPlayer)
	if h.TargetPlayer == 0 {
		target = fmt.Sprintf("group %d", h.TargetGroup)
	}
	return fmt.Sprintf("%s%d from %d to %s: %s", channel, h.OpCode, h.Sender, target, h.Payload)
}

// Fast is a fast channel. It appends what it sends to the list of its Link.
type Fast struct {
	link *Link

	mu     sync.Mutex
	ready  bool
	closed bool
}

// Ready implements player.FastLink.
func (f *Fast) Ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && !f.closed
}

// Confirm makes the channel ready.
func (f *Fast) Confirm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = true
}

// Closed reports whether the host has closed the channel.
func (f *Fast) Closed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// Send implements player.FastLink.
func (f *Fast) Send(frame *wire.Frame) bool {
	if !f.Ready() {
		return false
	}
	f.link.mu.Lock()
	defer f.link.mu.Unlock()
	f.link.frames.Track(frame)
	f.link.got = append(f.link.got, describe(frame.AppendFast(nil, 1)))
	return true
}

// Close implements player.FastLink.
func (f *Fast) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}
