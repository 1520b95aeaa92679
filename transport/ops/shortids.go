package ops

import (
	"bufio"
	"io"

	"troupe/messages"
	"troupe/messages/lazy"
)

// playerSessionForm matches a player session id in a log.
var playerSessionForm = lazy.Regexp(`psess-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

// shortIDs is a reader that shortens player session ids in a log, line by line. A line longer than 256 KiB is
// read in pieces, and an id that spans two pieces is not found.
type shortIDs struct {
	io.Closer
	in   *bufio.Reader
	left []byte
}

func shortened(log io.ReadCloser) io.ReadCloser {
	return &shortIDs{Closer: log, in: bufio.NewReaderSize(log, 256<<10)}
}

// Read implements io.Reader.
func (s *shortIDs) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		line, err := s.in.ReadSlice('\n')
		if len(line) == 0 {
			return 0, err
		}
		s.left = ShortIDs(line)
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// ShortIDs returns text with its player session ids shortened.
func ShortIDs(text []byte) []byte {
	return playerSessionForm().ReplaceAllFunc(text, func(id []byte) []byte {
		return []byte("psess-" + messages.PlayerSessionID(id).Short())
	})
}
