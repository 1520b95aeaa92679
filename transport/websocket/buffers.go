package websocket

import "sync"

// bufferClasses are the sizes of the pooled buffers, in bytes. The largest fits a full write buffer plus
// the largest frame that a script can send.
var bufferClasses = [...]int{4 << 10, 16 << 10, 32 << 10, 64 << 10, 100 << 10}

var (
	bufferPools [len(bufferClasses)]sync.Pool
	controls    = sync.Pool{New: func() any { return new(control) }}
)

// buffer is a byte slice that may come from a pool and return to it.
type buffer struct {
	class int // index into bufferClasses, or -1
	b     []byte
}

// takeBuffer returns an empty buffer with room for n bytes.
func takeBuffer(n int) *buffer {
	for class, size := range bufferClasses {
		if n > size {
			continue
		}
		if buf, ok := bufferPools[class].Get().(*buffer); ok {
			return buf
		}
		return &buffer{class: class, b: make([]byte, 0, size)}
	}
	return &buffer{class: -1, b: make([]byte, 0, n)}
}

// smalls has buffers of readBufferBytes, for input that ends in the middle of a frame.
var smalls = sync.Pool{New: func() any { return new([readBufferBytes]byte) }}

func takeSmall() []byte { return smalls.Get().(*[readBufferBytes]byte)[:] }

// giveSmall returns a buffer of takeSmall to the pool. It ignores slices of any other size.
func giveSmall(b []byte) {
	if cap(b) == readBufferBytes && len(b) == readBufferBytes {
		smalls.Put((*[readBufferBytes]byte)(b))
	}
}

// giveBuffer returns a buffer to its pool. The bytes must not be used afterwards. buf may be nil.
func giveBuffer(buf *buffer) {
	if buf == nil || buf.class < 0 {
		return
	}
	buf.b = buf.b[:0]
	bufferPools[buf.class].Put(buf)
}

// growBuffer returns a buffer with the same bytes and a capacity of at least n.
func growBuffer(buf *buffer, n int) *buffer {
	if n <= cap(buf.b) {
		return buf
	}
	larger := takeBuffer(n)
	larger.b = append(larger.b, buf.b...)
	giveBuffer(buf)
	return larger
}
