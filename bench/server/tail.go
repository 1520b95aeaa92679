package server

import "sync"

// tailBytesMax is how much of a server's output is kept.
const tailBytesMax = 8 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex // guards buf
	buf []byte
}

// Write implements io.Writer and never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailBytesMax; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
