package stock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const canRunDTLS = true

// dtlsProcess is a DTLS association that a child process maintains. Standard input and output of the child
// are the same packet socket: the child reads each write as a whole and sends it as one record.
type dtlsProcess struct {
	server net.Addr
	pipe   *net.UnixConn
	end    context.CancelFunc // kills the child
	in     chan []byte        // received records; closed when the child has exited and was waited for
	said   *transcript
	closer sync.Once
	pid    int
}

// dialDTLS starts the child, and waits until its handshake ends or stop is closed.
func dialDTLS(stop <-chan struct{}, d DTLS, to dtlsTarget) (secureConn, error) {
	caFile, err := anchorFile(to.anchors)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(caFile) }() // the child has read it by the end of the handshake
	prog, err := d.program(to, caFile)
	if err != nil {
		return nil, err
	}
	p, err := startDTLS(prog, to.server)
	if err != nil {
		return nil, err
	}
	if d.Timeout <= 0 {
		d.Timeout = dtlsTimeout
	}
	timer := time.NewTimer(d.Timeout)
	defer timer.Stop()
	select {
	case <-p.said.ready:
		return p, nil
	case _, ok := <-p.in:
		if ok {
			err = errors.New("a record before the handshake")
		} else {
			err = errors.New("refused")
		}
	case <-timer.C:
		err = fmt.Errorf("%w after %v", os.ErrDeadlineExceeded, d.Timeout)
	case <-stop:
		err = ErrClosed
	}
	p.kill()
	p.drain()
	return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(p.report()))
}

func anchorFile(anchors []byte) (string, error) {
	f, err := os.CreateTemp("", "stock-ca-*.pem")
	if err != nil {
		return "", err
	}
	_, err = f.Write(anchors)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// packetPair returns both ends of a packet socket. Both are close-on-exec.
func packetPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	mine := os.NewFile(uintptr(fds[0]), "packets")
	theirs = os.NewFile(uintptr(fds[1]), "packets of the child")
	conn, err := net.FileConn(mine) // duplicates the descriptor
	_ = mine.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

func startDTLS(prog program, server net.Addr) (*dtlsProcess, error) {
	pipe, theirs, err := packetPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()

	ctx, cancel := context.WithCancel(context.Background())
	said := &transcript{ready: make(chan struct{}), mark: []byte(prog.ready)}
	cmd := exec.CommandContext(ctx, prog.path, prog.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, said
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	// The child has its own process group, so an interrupt from the terminal does not reach it. The test
	// closes the socket, and that ends the child. The same happens if the test is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		_ = pipe.Close()
		return nil, err
	}
	p := &dtlsProcess{server: server, pipe: pipe, end: cancel, in: make(chan []byte), said: said, pid: cmd.Process.Pid}
	go p.pump(cmd, prog)
	return p, nil
}

// pump reads the child's output until it ends or cannot be split into records. Then it waits for the child to exit.
func (p *dtlsProcess) pump(cmd *exec.Cmd, prog program) {
	defer close(p.in)
	defer func() { _ = cmd.Wait() }()
	defer p.end() // no more output is needed
	defer func() { _ = p.pipe.Close() }()
	split := records{chunk: prog.chunk}
	prologue := prog.prologue
	buf := make([]byte, 64<<10)
	for {
		n, err := p.pipe.Read(buf)
		if err != nil || n == 0 { // an empty packet marks the end
			return
		}
		written := buf[:n]
		if prologue {
			if written, prologue = p.said.until(written); prologue || len(written) == 0 {
				continue
			}
		}
		done, err := split.add(written)
		for _, record := range done {
			p.in <- record
		}
		if err != nil {
			return
		}
	}
}

// drain waits until the child has exited. There must be no other reader.
func (p *dtlsProcess) drain() {
	for range p.in {
	}
}

func (p *dtlsProcess) kill() { p.end() }

func (p *dtlsProcess) report() string { return p.said.String() }

// ReadFrom returns one record. It returns an error when the association has ended and the child has exited.
func (p *dtlsProcess) ReadFrom(b []byte) (int, net.Addr, error) {
	record, ok := <-p.in
	if !ok {
		return 0, nil, net.ErrClosed
	}
	return copy(b, record), p.server, nil
}

// WriteTo sends b as one record to the server of the handshake. It ignores the address.
func (p *dtlsProcess) WriteTo(b []byte, _ net.Addr) (int, error) {
	if len(b) == 0 {
		return 0, errors.New("a record over DTLS must not be empty")
	}
	return p.pipe.Write(b)
}

// Close closes the child's input. The child then sends a close-notify and exits. If it does not, it is
// killed.
func (p *dtlsProcess) Close() error {
	p.closer.Do(func() {
		_ = p.pipe.CloseWrite()
		time.AfterFunc(dtlsCloseWait, p.end)
	})
	return nil
}

// LocalAddr returns nil, because only the child knows the address.
func (p *dtlsProcess) LocalAddr() net.Addr { return nil }

func (p *dtlsProcess) SetDeadline(t time.Time) error      { return p.pipe.SetDeadline(t) }
func (p *dtlsProcess) SetReadDeadline(t time.Time) error  { return p.pipe.SetReadDeadline(t) }
func (p *dtlsProcess) SetWriteDeadline(t time.Time) error { return p.pipe.SetWriteDeadline(t) }

// transcript stores the beginning of a program's output, and detects the mark in it.
type transcript struct {
	ready chan struct{} // closed when the mark appears
	mark  []byte

	mu   sync.Mutex
	text []byte
	over bool
}

const transcriptMax = 16 << 10

// Write implements io.Writer for the standard error of the child.
func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLocked(b)
	return len(b), nil
}

func (t *transcript) addLocked(b []byte) {
	t.text = append(t.text, b[:min(len(b), max(0, transcriptMax-len(t.text)))]...)
	if !t.over && bytes.Contains(t.text, t.mark) {
		t.over = true
		close(t.ready)
	}
}

// until consumes output up to and including the mark. It returns the remaining bytes, and whether the mark is
// still missing.
func (t *transcript) until(b []byte) (rest []byte, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range b {
		if t.addLocked(b[i : i+1]); t.over {
			return b[i+1:], false
		}
	}
	return nil, true
}

func (t *transcript) String() string { t.mu.Lock(); defer t.mu.Unlock(); return string(t.text) }
