package transporttest

import "troupe/transport"

// dispatch passes input to the Handler, correctly or with a defect.
type dispatch struct {
	transport.Handler
	c     *refConn
	count int
	last  []byte
	queue chan []byte
	done  chan struct{}
}

func (d *dispatch) unit(b []byte) {
	d.count++
	switch defect := d.c.s.defect; {
	case defect == dropsInbound && d.count%100 == 0:
		return
	case defect == mergesInbound && d.count%100 == 0:
		d.last = b
		return
	case defect == losesTheLast:
		b, d.last = d.last, b
		if b == nil {
			return
		}
	case defect == oneHandlerAtATime:
		d.c.s.one <- struct{}{}
		defer func() { <-d.c.s.one }()
	case defect == twoCallsAtOnce:
		d.c.s.running.Go(func() { d.OnAlive(nil) })
	case defect == mixesConnections:
		d.c.s.mu.Lock()
		if d.c.s.first == nil {
			d.c.s.first = d
		}
		other := d.c.s.first
		d.c.s.mu.Unlock()
		if d.count == 20 {
			other.OnUnit(b)
			return
		}
	case defect == queuesInput:
		if d.queue == nil {
			d.queue, d.done = make(chan []byte, 1<<16), make(chan struct{})
			go func() {
				defer close(d.done)
				for b := range d.queue {
					d.OnUnit(b)
				}
			}()
		}
		d.queue <- b
		return
	}
	if d.last != nil && d.c.s.defect == mergesInbound {
		b, d.last = append(d.last, b...), nil
	}
	d.OnUnit(b)
}

func (d *dispatch) alive(pong []byte) {
	d.count++
	switch {
	case d.c.s.defect == pongHasNoPayload:
		pong = nil
	case d.c.s.defect == losesPongs && d.count%3 != 0:
		return
	}
	d.OnAlive(pong)
}

func (d *dispatch) finish() {
	if d.queue != nil {
		close(d.queue)
		<-d.done
	}
}
