package memnet

import (
	"bytes"
	"sync"
	"time"
)

const (
	// BufferBytes is what one direction of a stream holds between its two ends:
	// written, and not read or not acknowledged.
	BufferBytes = 128 << 10
	// rto is when a lost segment is sent again.
	rto = 200 * time.Millisecond
	// segmentBytes is the largest segment.
	segmentBytes = 1460
)

// segment draws how long a segment of size bytes takes, with all the times it
// has to be sent.
func (p *Path) segment(size int) time.Duration {
	d := p.delay()
	for p.sent(size); p.hit(p.cond.Loss); p.sent(size) {
		p.stats.Lost++
		d += rto
	}
	if p.hit(p.cond.Reorder) {
		d += p.held()
	}
	if p.hit(p.cond.Duplicate) {
		p.stats.Duplicated++
	}
	return d
}

func (p *Path) sent(size int) {
	p.stats.Sent++
	p.stats.Bytes += int64(size)
}

// segment is a piece of a stream under way.
type segment struct {
	due time.Time
	b   []byte
	fin bool // the last
}

// pipe is one direction of a stream. The network's lock guards it.
type pipe struct {
	n        *Network
	ahead    *Path   // the data's
	back     *Path   // the acknowledgements'
	from, to *Stream // writer and reader
	changed  sync.Cond

	flying  []segment    // oldest first
	used    int          // bytes of the buffer
	pumping bool         // an event for the oldest segment is set
	ready   bytes.Buffer // arrived
	ended   bool         // the last segment has arrived
	unacked int          // read, but the writer cannot know
	dropped bool         // reset: nothing travels any more
}

func (p *pipe) free() int { return BufferBytes - p.used }

// write puts b, at most free bytes, on its way.
func (p *pipe) write(b []byte) {
	now := time.Now()
	p.used += len(b)
	for len(b) > 0 {
		size := min(len(b), segmentBytes)
		p.fly(now, segment{b: bytes.Clone(b[:size])})
		b = b[size:]
	}
	p.pump(now)
}

// finish ends the direction behind what is written.
func (p *pipe) finish() {
	now := time.Now()
	p.fly(now, segment{fin: true})
	p.pump(now)
}

func (p *pipe) fly(now time.Time, s segment) {
	s.due = now.Add(p.ahead.segment(len(s.b)))
	p.flying = append(p.flying, s)
}

// pump delivers what is due, in order: what is behind a late segment waits.
func (p *pipe) pump(now time.Time) {
	for !p.dropped && len(p.flying) > 0 && !p.flying[0].due.After(now) {
		s := &p.flying[0]
		if p.ahead.dark() {
			p.ahead.sent(len(s.b))
			p.ahead.stats.Lost++
			s.due = now.Add(rto)
			break
		}
		if p.to.closed {
			if !s.fin && !p.to.refuse(p.back) { // the answer was lost: sent again
				s.due = now.Add(rto)
				break
			}
			p.drop()
			return
		}
		p.ahead.stats.Delivered++
		p.ready.Write(s.b)
		p.ended = p.ended || s.fin
		p.flying[0] = segment{}
		p.flying = p.flying[1:]
		p.changed.Broadcast()
	}
	if !p.dropped && len(p.flying) > 0 && !p.pumping {
		p.pumping = true
		p.n.at(p.flying[0].due, func(now time.Time) {
			p.pumping = false
			p.pump(now)
		})
	}
}

// read takes what has arrived.
func (p *pipe) read(b []byte) int {
	n, _ := p.ready.Read(b)
	p.unacked += n
	p.acknowledge(time.Now())
	return n
}

// acknowledge gives room back, once the writer can be told.
func (p *pipe) acknowledge(now time.Time) {
	switch {
	case p.unacked == 0 || p.dropped:
	case p.back.dark():
		p.n.at(now.Add(rto), p.acknowledge)
	default:
		p.used -= p.unacked
		p.unacked = 0
		p.changed.Broadcast()
	}
}

// drop forgets what is under way. What has arrived can still be read.
func (p *pipe) drop() {
	p.dropped, p.flying = true, nil
	p.changed.Broadcast()
}
