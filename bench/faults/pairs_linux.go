package faults

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"troupe/messages/lazy"
	"troupe/transport"
)

// pairsEnv lets this process see the sockets of the hosts, whoever runs it: hosts hide them otherwise.
var pairsEnv = []string{"GOTRACEBACK=crash"}

// pairs accepts the connections of other hosts to one host, and passes each on by the path of its two hosts. Hosts know
// one address of another host. The kernel says which process has opened a connection.
type pairs struct {
	listener net.Listener
	done     chan struct{}
}

// handed is a network whose only listener accepts the connections that are handed to it.
type handed struct {
	transport.Network
	conns  chan net.Conn
	closed chan struct{}
}

// Listen returns the listener.
func (h *handed) Listen(string, string) (net.Listener, error) { return handedListener{h}, nil }

type handedListener struct{ *handed }

func (l handedListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l handedListener) Close() error {
	close(l.closed)
	return nil
}

func (l handedListener) Addr() net.Addr { return new(net.TCPAddr) }

// listenPairs listens in place of a host.
func (c *cluster) listenPairs(node int) (*pairs, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &pairs{listener, make(chan struct{})}
	from := map[int]*handed{}
	for i := range c.nodes {
		if i == node {
			continue
		}
		from[i] = &handed{transport.System, make(chan net.Conn), make(chan struct{})}
		if c.toPeers[[2]int{i, node}], err = ListenPath(from[i], "127.0.0.1:0", c.o.Seed, node, c.nodes[node].peers, ""); err != nil {
			return p, err
		}
	}
	go func() {
		defer close(p.done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			source, err := opener(conn)
			h := from[source]
			if err != nil || h == nil {
				c.watched.note("a connection to node-%d cannot be told: %v", node, err)
				_ = conn.Close()
				continue
			}
			select {
			case h.conns <- conn:
			case <-h.closed:
				_ = conn.Close()
			}
		}
	}()
	return p, nil
}

func (p *pairs) addr() string { return p.listener.Addr().String() }

// close stops accepting. The paths are closed by their owner.
func (p *pairs) close() {
	_ = p.listener.Close()
	<-p.done
}

// opener returns the number of the host that has opened a connection to this process. Its command line has its name.
func opener(conn net.Conn) (int, error) {
	socket, err := socketOf(conn.RemoteAddr(), conn.LocalAddr())
	if err != nil {
		return -1, err
	}
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return -1, err
	}
	for _, f := range files {
		if to, err := os.Readlink(f); err != nil || to != "socket:["+socket+"]" {
			continue
		}
		words, err := os.ReadFile(filepath.Join(filepath.Dir(f), "../cmdline"))
		if err != nil {
			return -1, err
		}
		if name := nodeArg().FindSubmatch(words); name != nil {
			return strconv.Atoi(string(name[1]))
		}
	}
	return -1, fmt.Errorf("no host has socket %s", socket)
}

// nodeArg matches the name of a host in its command line.
var nodeArg = lazy.Regexp(`\x00cluster\.node=node-(\d)\x00`)

// socketOf returns the inode of a socket in /proc/net/tcp.
func socketOf(local, remote net.Addr) (string, error) {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return "", err
	}
	defer f.Close()
	want := []string{hexAddr(local), hexAddr(remote)}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 9 && fields[1] == want[0] && fields[2] == want[1] {
			return fields[9], nil
		}
	}
	return "", fmt.Errorf("there is no socket %s", local)
}

// hexAddr returns an IPv4 address as /proc/net/tcp has it.
func hexAddr(a net.Addr) string {
	addr, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return ""
	}
	ip := addr.Addr().Unmap().As4()
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), addr.Port())
}
