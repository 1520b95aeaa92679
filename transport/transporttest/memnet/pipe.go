package memnet

import (
	"bytes"
	"sync"
	"time"
)

const (
	// BufferBytes is the size of the buffer of one direction of a stream. It holds bytes that are written and
	// not yet read, or read and not yet acknowledged.
	BufferBytes = 128 << 10
	// rto is the retransmission timeout of a lost segment.
	rto = 200 * time.Millisecond
	// segmentBytes is the maximum size of a segment.
	segmentBytes = 1460
)

// segment draws the transit time of a segment of size bytes, including all retransmissions.
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

// segment is a part of a stream in transit.
type segment struct {
	due time.Time
	b   []byte
	fin bool // last segment
}

// pipe is one direction of a stream. The network's lock guards it.
type pipe struct {
	n        *Network
	ahead    *Path   // path of the data
	back     *Path   // path of the acknowledgements
	from, to *Stream // writer and reader
	changed  sync.Cond

	flying  []segment    // segments in transit, oldest first
	used    int          // used bytes of the buffer
	pumping bool         // whether an event for the oldest segment is scheduled
	ready   bytes.Buffer // arrived bytes
	ended   bool         // whether the last segment has arrived
	unacked int          // bytes that were read, but not acknowledged to the writer
	dropped bool         // reset: all traffic is dropped
}

func (p *pipe) free() int { return BufferBytes - p.used }

// write sends b, which must fit into the free part of the buffer.
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

// finish sends the last segment, after everything that was written.
func (p *pipe) finish() {
	now := time.Now()
	p.fly(now, segment{fin: true})
	p.pump(now)
}

func (p *pipe) fly(now time.Time, s segment) {
	s.due = now.Add(p.ahead.segment(len(s.b)))
	p.flying = append(p.flying, s)
}

// pump delivers the segments that are due, in order. Segments after a delayed one wait.
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
			if !s.fin && !p.to.refuse(p.back) { // the reset was lost, so the segment is sent again
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

// read returns bytes that have arrived.
func (p *pipe) read(b []byte) int {
	n, _ := p.ready.Read(b)
	p.unacked += n
	p.acknowledge(time.Now())
	return n
}

// acknowledge frees buffer space. On a blocked path it retries later.
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

// drop discards everything in transit. Bytes that have arrived can still be read.
func (p *pipe) drop() {
	p.dropped, p.flying = true, nil
	p.changed.Broadcast()
}
