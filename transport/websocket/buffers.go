package websocket

import "sync"

// bufferClasses are the sizes of pooled buffers, in bytes. The last one holds a full write buffer and the largest frame of a script.
var bufferClasses = [...]int{4 << 10, 16 << 10, 32 << 10, 64 << 10, 100 << 10}

var (
	bufferPools [len(bufferClasses)]sync.Pool
	controls    = sync.Pool{New: func() any { return new(control) }}
)

// buffer is a byte slice that may come from a pool and go back to it.
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

// smalls has buffers of readBufferBytes for the begin of a frame whose rest has not come.
var smalls = sync.Pool{New: func() any { return new([readBufferBytes]byte) }}

func takeSmall() []byte { return smalls.Get().(*[readBufferBytes]byte)[:] }

// giveSmall returns a buffer of takeSmall. It keeps no others.
func giveSmall(b []byte) {
	if cap(b) == readBufferBytes && len(b) == readBufferBytes {
		smalls.Put((*[readBufferBytes]byte)(b))
	}
}

// giveBuffer returns a buffer, if there is one, to its pool. Its bytes must not be used afterwards.
func giveBuffer(buf *buffer) {
	if buf == nil || buf.class < 0 {
		return
	}
	buf.b = buf.b[:0]
	bufferPools[buf.class].Put(buf)
}

// growBuffer returns a buffer with the same bytes and room for n in all.
func growBuffer(buf *buffer, n int) *buffer {
	if n <= cap(buf.b) {
		return buf
	}
	larger := takeBuffer(n)
	larger.b = append(larger.b, buf.b...)
	giveBuffer(buf)
	return larger
}
