package websocket

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
)

// accept accepts connections until the listener is closed. A connection that waits for admission has no goroutine.
func (l *Listener) accept() error {
	for failures := 0; ; {
		nc, err := l.ln.Accept()
		if err != nil {
			if l.closing() || errors.Is(err, net.ErrClosed) {
				return err
			}
			// The process has no file descriptors or memory left, or the peer is gone already. Such errors are temporary.
			failures = min(failures+1, acceptPauseSteps)
			l.opt.Log.Warn().Err(err).Msg("accept failed")
			time.Sleep(time.Millisecond << failures)
			continue
		}
		failures = 0
		l.receive(nc)
	}
}

// receive handles an accepted connection. Its handshake starts when Admission admits it.
func (l *Listener) receive(nc net.Conn) {
	defer transport.Rescue(l.opt.Counters, &l.opt.Log, "WebSocket listener", func(any) { reset(nc) })
	v := &handshakingConn{Conn: nc, l: l, remote: addrPort(nc.RemoteAddr())}
	proxied := l.opt.Proxies.Has(v.remote.Addr())
	if a := l.opt.Admission; a != nil && proxied {
		v.ticket = a.TrustedTicket()
	} else if a != nil {
		v.ticket = a.Ticket(v.remote.Addr())
	}
	switch {
	case !l.enter(v):
	case !proxied:
		v.requestAdmission()
	case v.ticket != nil && v.ticket.Enter() != 0:
		v.Evict()
	default:
		v.ticket.OnEvict(func() { cut(nc) })
		if l.begin(v) {
			go v.readProxyHeader()
		}
	}
}

// requestAdmission waits for admission, without a goroutine.
func (v *handshakingConn) requestAdmission() {
	if v.ticket == nil {
		v.Admit()
	} else if v.ticket.Wait(v) != 0 {
		v.Evict()
	}
}

// readProxyHeader reads the PROXY header of a load balancer, and then requests admission for the client that it names.
func (v *handshakingConn) readProxyHeader() {
	l := v.l
	defer l.handshakes.Done()
	defer transport.Rescue(l.opt.Counters, &l.opt.Log, "PROXY protocol header", v.panicked)
	under := bottom(v.Conn) // the header comes before TLS
	_ = under.SetReadDeadline(time.Now().Add(headerTimeout))
	client, err := transport.ReadProxyHeader(under)
	_ = under.SetReadDeadline(time.Time{})
	if err != nil {
		l.opt.Log.Debug().Stringer("remote", v.remote).Err(err).Msg("no PROXY protocol header")
		l.strike(v)
		v.refuse(counters.RefusedProxy)
		_ = v.Close()
		return
	}
	v.ticket.Leave()
	l.mu.Lock()
	closed := l.closed
	if client.IsValid() { // otherwise it is the balancer's own connection
		v.remote = client
	}
	if a := l.opt.Admission; a != nil {
		v.ticket = a.Ticket(v.remote.Addr())
	}
	v.serving = false
	if closed {
		delete(l.handshaking, v)
	}
	l.mu.Unlock()
	if closed {
		_ = v.Close()
		return
	}
	v.requestAdmission()
}

// begin records that a goroutine serves the connection. It returns false if Close has already cut the connection.
func (l *Listener) begin(v *handshakingConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, listed := l.handshaking[v]; !listed {
		return false
	}
	v.serving = true
	l.handshakes.Add(1)
	return true
}

// acceptPauseSteps is the maximum number of times that the pause after consecutive failed accepts doubles. The longest
// pause is about one second.
const acceptPauseSteps = 10

// enter adds a connection to the handshaking ones. It returns false if the listener is closed.
func (l *Listener) enter(v *handshakingConn) bool {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.handshaking[v] = struct{}{}
	}
	l.mu.Unlock()
	if closed {
		_ = v.Close()
	}
	return !closed
}

func (v *handshakingConn) panicked(any) { _ = v.Close() }

// reset closes a connection with a TCP reset. A reset leaves no TIME_WAIT entry; a flood of connections would fill that table.
func reset(nc net.Conn) {
	lingerNot(nc)
	cut(nc)
}

// lingerNot makes a later close of the socket a TCP reset.
func lingerNot(nc net.Conn) {
	if l, ok := bottom(nc).(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0)
	}
}

// tcpOf returns the TCP connection under nc, or nil if there is none.
func tcpOf(nc net.Conn) *net.TCPConn {
	tcp, _ := bottom(nc).(*net.TCPConn)
	return tcp
}

// bottom returns the connection under TLS, or nc itself if there is no TLS.
func bottom(nc net.Conn) net.Conn {
	for {
		upper, ok := nc.(interface{ NetConn() net.Conn }) // tls.Conn
		if !ok {
			return nc
		}
		nc = upper.NetConn()
	}
}

// handshakingConn is a connection whose handshake is not complete. Closing it returns its ticket.
type handshakingConn struct {
	net.Conn
	l       *Listener
	remote  netip.AddrPort
	ticket  *transport.Ticket
	done    atomic.Bool // upgraded, or counted as refused
	serving bool        // guarded by l.mu: the goroutine of serve is running, and will remove it from the list
}

var _ transport.Entrant = (*handshakingConn)(nil)

// Admit implements transport.Entrant.
func (v *handshakingConn) Admit() {
	if v.l.begin(v) {
		go v.serve()
	}
}

// Evict implements transport.Entrant. Admission has already counted the refusal.
func (v *handshakingConn) Evict() {
	v.done.Store(true)
	l := v.l
	l.mu.Lock()
	if !v.serving {
		delete(l.handshaking, v)
	}
	l.mu.Unlock()
	reset(v.Conn)
}

// Peek implements transport.Entrant.
func (v *handshakingConn) Peek() transport.Presence { return peek(tcpOf(v.Conn)) }

// Close implements net.Conn. If the connection was neither upgraded nor refused, it counts as refused with RefusedHandshake.
func (v *handshakingConn) Close() error {
	v.refuse(counters.RefusedHandshake)
	v.ticket.Leave()
	return v.Conn.Close()
}

// refuse counts the connection as refused. Only the first call has an effect. If the listener is closing, the reason
// is RefusedDraining.
func (v *handshakingConn) refuse(why counters.Refusal) {
	if !v.done.CompareAndSwap(false, true) {
		return
	}
	if v.l.closing() {
		why = counters.RefusedDraining
	}
	v.l.opt.Counters.Refused.Add(why, 1)
}
