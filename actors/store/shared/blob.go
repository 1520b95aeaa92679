package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"troupe/messages/coord"
)

const (
	pieceMax  = coord.ValueMax
	blobMark  = "\x00" // first byte of a record that names pieces; a value that begins with this byte is itself stored in pieces
	blobBytes = 256    // maximum size in bytes of a record that names pieces
)

// blob names the pieces of a value. Their keys are `blob/<key>\x00<try>/<n>`. Each try is used only once.
type blob struct {
	Try    string `json:"try"`
	Pieces int    `json:"pieces"`
}

func inPieces(value []byte) bool {
	return len(value) > pieceMax || len(value) > 0 && value[0] == blobMark[0]
}

func (b blob) encode() []byte {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // a bug: these values always encode
	}
	return append([]byte(blobMark), text...)
}

// decode returns the blob that a record contains. is is false if the record contains a value instead.
func decode(value []byte) (b blob, is bool) {
	if len(value) == 0 || value[0] != blobMark[0] {
		return b, false
	}
	return b, json.Unmarshal(value[1:], &b) == nil
}

// pieces returns the prefix of the keys of a record's pieces.
func pieces(prefix, key string) string {
	return prefix + "blob/" + strings.TrimPrefix(key, prefix) + "\x00"
}

func piece(prefix, key string, b blob, n int) string {
	return fmt.Sprintf("%s%s/%06d", pieces(prefix, key), b.Try, n)
}

// writePieces writes the pieces of a value. The record that names them must be written afterwards.
func (s *Store) writePieces(key string, value []byte) (blob, error) {
	b := blob{Try: fmt.Sprintf("%x-%x", s.o.Term.Revision, s.number+1)}
	for len(value) > 0 {
		n := min(len(value), pieceMax)
		if err := s.settle([]coord.Change{coord.Put(piece(s.o.Prefix, key, b, b.Pieces), value[:n])}); err != nil {
			return b, err
		}
		value = value[n:]
		b.Pieces++
	}
	return b, nil
}

func (s *Store) dropPieces(key string, b blob) error {
	for n := range b.Pieces {
		if err := s.settle([]coord.Change{coord.Delete(piece(s.o.Prefix, key, b, n))}); err != nil {
			return err
		}
	}
	return nil
}

// errPiece means that a piece of a value is missing, because the record that names it has been replaced.
var errPiece = errors.New("store: a piece of a value is missing")

// whole returns the complete value of a record at a revision.
func whole(read func(coord.Query) (coord.Found, error), prefix string, kv coord.KV, at int64) ([]byte, error) {
	b, is := decode(kv.Value)
	if !is {
		return kv.Value, nil
	}
	var all []byte
	for n := range b.Pieces {
		found, err := read(coord.Query{Key: piece(prefix, kv.Key, b, n), At: at})
		if err != nil {
			return nil, err
		}
		if len(found.KVs) == 0 {
			return nil, fmt.Errorf("%w: %d of %d of %s", errPiece, n+1, b.Pieces, kv.Key)
		}
		all = append(all, found.KVs[0].Value...)
	}
	return all, nil
}

// sweep finds the records whose values are in pieces, and deletes the pieces that no record names.
func (s *Store) sweep(ctx context.Context) error {
	prefix := s.o.Prefix + "blob/"
	found, err := s.o.Coordinator.Read(ctx, coord.Query{Key: prefix, Prefix: true, Keys: true})
	if err != nil {
		return err
	}
	for _, kv := range found.KVs {
		end := strings.LastIndexByte(kv.Key, blobMark[0])
		try, _, _ := strings.Cut(kv.Key[end+1:], "/")
		key := s.o.Prefix + kv.Key[len(prefix):end]
		b, known := s.blobs[key]
		if !known {
			record, err := s.o.Coordinator.Read(ctx, coord.Query{Key: key})
			if err != nil {
				return err
			}
			if len(record.KVs) > 0 {
				b, _ = decode(record.KVs[0].Value)
			}
			s.blobs[key] = b
		}
		if b.Try != try {
			if err := s.settle([]coord.Change{coord.Delete(kv.Key)}); err != nil {
				return errors.Join(err, ctx.Err())
			}
		}
	}
	for key, b := range s.blobs {
		if b.Pieces == 0 {
			delete(s.blobs, key)
		}
	}
	return nil
}
