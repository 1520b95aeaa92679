package fast

import (
	"errors"
	"net"

	"troupe/messages/counters"
	"troupe/transport"
)

// writeBatch is how many datagrams the writer takes from the queue at a time.
const writeBatch = 64

// write is the writer of a socket: it encodes each datagram into its one buffer and sends
// it. Only this goroutine blocks when the kernel's buffer is full.
func (s *socket) write() {
	var batch [writeBatch]datagram
	buf := make([]byte, 0, datagramMax)
	for more := true; more; {
		var n int
		n, more = s.out.take(batch[:])
		for i := range batch[:n] {
			buf = s.writeOne(&batch[i], buf)
			batch[i] = datagram{}
		}
	}
}

// writeOne sends d, unless the binding it was queued for has ended: game data goes to
// confirmed addresses only (RL-27). It releases d's reference and returns the buffer for the
// next datagram. After a panic it closes the channel of this peer.
func (s *socket) writeOne(d *datagram, buf []byte) (next []byte) {
	defer func() {
		if p := recover(); p != nil {
			transport.Panicked(s.pool.opt.Counters, &s.pool.opt.Log, "fast channel writer", p)
			d.owner.Close()
			next = buf
		}
	}()
	defer d.frame.Release()
	if d.life != 0 && d.life != d.owner.live.Load() {
		return buf
	}
	buf = d.frame.AppendFast(buf[:0], d.number)
	n, err := s.conn.WriteToUDPAddrPort(buf, d.to)
	count := s.pool.opt.Counters
	count.Writes.Add(counters.UDP, 1)
	switch {
	case err == nil:
		count.BytesOut.Add(counters.UDP, int64(n))
	case !errors.Is(err, net.ErrClosed): // lost, as any datagram may be
		s.pool.logWriteError(err, d)
	}
	return buf
}
