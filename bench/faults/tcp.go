package faults

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// chunkBytes is the number of bytes that count as one packet of a stream. chunksMax is the number of chunks that
	// may wait in one direction. Together they are 32 KiB, the buffer of a small router.
	chunkBytes  = 2 << 10
	chunksMax   = 16
	dialTimeout = 10 * time.Second
)

// stream is a TCP connection.
type stream interface {
	net.Conn
	CloseWrite() error
}

// closeByReset closes a connection with a TCP reset.
func closeByReset(c net.Conn) {
	if tcp, ok := c.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// pair is one TCP connection of a player. It joins the connection from the player with the connection to the host.
type pair struct {
	path         *Path
	player, host stream
	once         sync.Once
	over         chan struct{} // closed when the pair has ended
	forgetOnce   sync.Once
	forgotten    chan struct{} // closed when the pair must stay silent forever
}

func (p *Path) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // for example, too many open files
			continue
		}
		p.use()
		p.work.Go(func() { p.connect(conn.(stream)) })
	}
}

// connect forwards one connection of the player until it ends. It does not connect to the host while the path is
// silent.
func (p *Path) connect(player stream) {
	c := &pair{path: p, player: player, over: make(chan struct{}), forgotten: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		_ = player.Close()
		return
	}
	p.pairs[c] = struct{}{}
	target := p.tcp
	p.mu.Unlock()
	defer func() {
		c.end()
		p.mu.Lock()
		delete(p.pairs, c)
		p.mu.Unlock()
	}()
	if !c.await(p.up, time.Now()) {
		return
	}
	host, err := p.dial("tcp", target)
	if err != nil {
		c.abort(true)
		return
	}
	p.mu.Lock()
	c.host = host.(stream)
	p.mu.Unlock()
	select {
	case <-c.over: // the pair ended before c.host was set, so end did not close it
		closeByReset(host)
		return
	default:
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { c.pump(p.up, c.player, c.host) })
	pumps.Go(func() { c.pump(p.down, c.host, c.player) })
	pumps.Wait()
}

// chunk is a piece of a stream. It may also carry the end of the stream.
type chunk struct {
	bytes []byte
	due   time.Time
	end   error // io.EOF: FIN; other errors: RST; nil: the stream continues
}

// pump forwards one direction of the pair until it ends.
func (c *pair) pump(d *direction, from, to stream) {
	queue := make(chan chunk, chunksMax)
	c.path.work.Go(func() {
		var free, last time.Time // free: when the rate limit has passed the previous chunk; last: due time of the previous chunk
		for {
			next := chunk{bytes: make([]byte, chunkBytes)}
			n, err := from.Read(next.bytes)
			next.bytes, next.end = next.bytes[:n], err
			lost, delay, takes := d.draw(n)
			if lost {
				delay += tcpPause
			}
			if now := time.Now(); free.Before(now) {
				free = now
			}
			free = free.Add(takes)
			if next.due = free.Add(delay); next.due.Before(last) {
				next.due = last
			}
			last = next.due
			select {
			case queue <- next:
			case <-c.over:
				return
			}
			if err != nil {
				return
			}
		}
	})
	for {
		var next chunk
		select {
		case next = <-queue:
		case <-c.over:
			return
		}
		if !c.await(d, next.due) {
			return
		}
		if _, err := to.Write(next.bytes); err != nil {
			c.abort(true)
			return
		}
		switch {
		case errors.Is(next.end, io.EOF):
			_ = to.CloseWrite()
			return
		case next.end != nil:
			c.abort(true)
			return
		}
	}
}

// await waits until a chunk with this due time may pass. It returns false if the connection ends first.
func (c *pair) await(d *direction, due time.Time) bool {
	for {
		silent, changed := d.quiet()
		wait := time.Until(due)
		if !silent && wait <= 0 {
			break
		}
		var timer <-chan time.Time
		if !silent {
			timer = time.After(wait)
		}
		select {
		case <-changed:
		case <-timer:
		case <-c.over:
			return false
		}
	}
	select {
	case <-c.forgotten:
		<-c.over
		return false
	case <-c.over:
		return false
	default:
		return true
	}
}

// forget makes the pair silent forever. Not even the end of the connection is forwarded.
func (c *pair) forget() { c.forgetOnce.Do(func() { close(c.forgotten) }) }

// abort resets the player's side. If host is true, it resets the host's side too; otherwise the host receives nothing
// more.
func (c *pair) abort(host bool) {
	if !host {
		c.forget()
	}
	closeByReset(c.player)
	if host {
		c.end()
	}
}

// end resets both sides.
func (c *pair) end() {
	c.once.Do(func() { close(c.over) })
	c.path.mu.Lock()
	host := c.host
	c.path.mu.Unlock()
	for _, side := range []stream{c.player, host} {
		if side != nil {
			closeByReset(side)
		}
	}
}
