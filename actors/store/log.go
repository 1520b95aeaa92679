package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The log (SQLite's WAL file, sqlite.org/fileformat2.html#the_write_ahead_log) consists of a header and frames. Each
// frame holds one page. A frame is valid if it has the header's salts and a correct cumulative checksum, and if the
// last frame of its transaction is valid. For SQLite the log ends at the first invalid frame.
const (
	logHeader   = 32
	frameHeader = 24
	logMagic    = 0x377f0682 // plus one if the checksums use big-endian words
	pageSize    = 4096
)

// logLength returns the length, in bytes, of a log with the given number of pages.
func logLength(pages int64) int64 {
	if pages == 0 {
		return 0
	}
	return logHeader + pages*(frameHeader+pageSize)
}

// checkLog returns an error if a log is damaged before its last transaction. Each transaction is synced before the next
// one is written, so a crash or a power failure can damage only the last one. If the log is damaged earlier, SQLite
// would silently drop everything that follows the damage.
func checkLog(path string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer f.Close()
		var lost int
		if lost, err = lostTransactions(f); err == nil && lost > 1 {
			err = fmt.Errorf("is damaged before its end, and at least %d transactions behind that would be lost; restore a backup, or remove the file to go on without them", lost-1)
		}
	}
	if err != nil {
		return fmt.Errorf("store: %s: %w", path, err)
	}
	return nil
}

// errHeader says that the header is damaged. The header is synced before the first frame is written, so a crash or a
// power failure cannot have damaged it.
var errHeader = errors.New("is damaged at its beginning, so none of it can be read; restore a backup, or remove the file to go on without it")

// lostTransactions returns the number of transactions that end at or after the first invalid frame.
func lostTransactions(r io.Reader) (int, error) {
	var header [logHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, notEnd(err) // the log was just being created
	}
	order, ok := logOrder(binary.BigEndian.Uint32(header[:]))
	size := binary.BigEndian.Uint32(header[8:])
	var sums [2]uint32
	logSum(order, &sums, header[:24])
	frame := make([]byte, frameHeader+pageSize)
	if !ok || size != pageSize || !sumIs(header[24:], sums) {
		if n, err := io.ReadFull(r, frame); n < len(frame) {
			return 0, notEnd(err)
		}
		return 0, errHeader
	}
	bad, lost := false, 0
	for {
		if _, err := io.ReadFull(r, frame); err != nil {
			return lost, notEnd(err)
		}
		own := string(frame[8:16]) == string(header[16:24])
		if !bad {
			logSum(order, &sums, frame[:8])
			logSum(order, &sums, frame[frameHeader:])
			bad = !own || !sumIs(frame[16:24], sums)
		}
		if bad && own && binary.BigEndian.Uint32(frame[4:]) != 0 {
			lost++
		}
	}
}

func logOrder(magic uint32) (binary.ByteOrder, bool) {
	if magic == logMagic+1 {
		return binary.BigEndian, true
	}
	return binary.LittleEndian, magic == logMagic
}

// logSum updates a cumulative checksum. The length of b must be a multiple of eight bytes.
func logSum(order binary.ByteOrder, s *[2]uint32, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
}

func sumIs(b []byte, s [2]uint32) bool {
	return binary.BigEndian.Uint32(b) == s[0] && binary.BigEndian.Uint32(b[4:]) == s[1]
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
