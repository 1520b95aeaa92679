package stock

import (
	"encoding/binary"
	"errors"
)

// records puts the output of a DTLS program together to what the server sent.
type records struct {
	// chunk is how much of a record the program writes at a time. Zero means that its writes say nothing about
	// records: then units are cut out by their length alone.
	chunk int
	buf   []byte
}

const recordsMax = 1 << 17 // bytes kept of something without an end

var errRecords = errors.New("the server's records make no units")

// add takes one write of the program and returns the records, or units, that are complete by it.
func (r *records) add(written []byte) (done [][]byte, err error) {
	r.buf = append(r.buf, written...)
	if r.chunk > 0 {
		if size, ok := unitSize(r.buf); len(written) >= r.chunk && ok && len(r.buf) < size && size <= recordsMax {
			return nil, nil // a full write in the middle of a unit: the record goes on
		}
		done = append(done, r.buf)
		r.buf = nil
		return done, nil
	}
	for {
		size, ok := unitSize(r.buf)
		if size > recordsMax {
			return done, errRecords
		}
		if !ok || len(r.buf) < size {
			return done, nil
		}
		done = append(done, r.buf[:size:size])
		r.buf = r.buf[size:]
	}
}

// unitSize returns the bytes of the unit that b begins with, length included, and whether b tells. What cannot be a
// length counts as endless.
func unitSize(b []byte) (int, bool) {
	length, n := binary.Uvarint(b)
	switch {
	case n == 0:
		return 0, false
	case n < 0 || length > recordsMax:
		return recordsMax + 1, true
	}
	return n + int(length), true
}
