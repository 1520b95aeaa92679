package stock

import (
	"encoding/binary"
	"errors"
)

// records reassembles what the server sent from the output of a DTLS program.
type records struct {
	// chunk is the maximum number of bytes that the program writes at a time. Zero means that its writes do
	// not show the boundaries of records; units are then separated by their length only.
	chunk int
	buf   []byte
}

const recordsMax = 1 << 17 // maximum bytes of a unit without an end

var errRecords = errors.New("the server's records make no units")

// add adds one write of the program. It returns the records, or units, that are now complete.
func (r *records) add(written []byte) (done [][]byte, err error) {
	r.buf = append(r.buf, written...)
	if r.chunk > 0 {
		if size, ok := unitSize(r.buf); len(written) >= r.chunk && ok && len(r.buf) < size && size <= recordsMax {
			return nil, nil // a full write in the middle of a unit: the record continues in the next write
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

// unitSize returns the size of the unit at the beginning of b, including its length prefix. ok is false if b
// is too short to know. An invalid length counts as an endless unit.
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
