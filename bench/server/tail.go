package server

import (
	"bytes"
	"sync"
)

// tailBytesMax is how many bytes of a server's output are retained.
const tailBytesMax = 8 << 10

// tail is a writer that retains the last tailBytesMax bytes.
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

// String returns the retained output.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// reason returns the last line if it is the error with which troupe ended.
func (t *tail) reason() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := bytes.TrimSpace(t.buf)
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	why, ok := bytes.CutPrefix(last, []byte("troupe: "))
	return string(why), ok
}
