package modules

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"math/big"
	"time"

	"github.com/dop251/goja"
	"github.com/google/uuid"
)

var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

const randomMax = 64 << 20

func cryptoBinding(l *Loader) map[string]any {
	r := l.runtime
	return map[string]any{
		"random": native(func(c goja.FunctionCall) goja.Value {
			n := c.Argument(0).ToInteger()
			if n < 0 || n > randomMax {
				panic(l.coded("RangeError", "ERR_OUT_OF_RANGE", "too many random bytes"))
			}
			b := make([]byte, n)
			l.pieces(b, func(piece []byte) { _, _ = rand.Read(piece) })
			return r.ToValue(r.NewArrayBuffer(b))
		}),
		// integer returns a random integer in [0, argument).
		"integer": native(func(c goja.FunctionCall) goja.Value {
			n, err := rand.Int(rand.Reader, big.NewInt(max(c.Argument(0).ToInteger(), 1)))
			must(err)
			return r.ToValue(n.Int64())
		}),
		"uuid": native(func(goja.FunctionCall) goja.Value { return r.ToValue(uuid.NewString()) }),
		// hash returns {update(bytes), digest()}, or undefined for an unknown algorithm. With a key, it
		// computes an HMAC.
		"hash": native(func(c goja.FunctionCall) goja.Value {
			make, ok := hashes[c.Argument(0).String()]
			if !ok {
				return goja.Undefined()
			}
			h := make()
			if key := c.Argument(1); !goja.IsUndefined(key) {
				h = hmac.New(make, l.keyOf(make, view(key)))
			}
			o := r.NewObject()
			must(o.Set("update", native(func(c goja.FunctionCall) goja.Value {
				l.pieces(view(c.Argument(0)), func(piece []byte) { h.Write(piece) })
				return goja.Undefined()
			})))
			must(o.Set("digest", native(func(goja.FunctionCall) goja.Value { return r.ToValue(r.NewArrayBuffer(h.Sum(nil))) })))
			return o
		}),
	}
}

const pieceSize = 1 << 20 // number of bytes that Go processes between two yield points

// pieces calls f for consecutive pieces of b. After each piece but the last, the script may be suspended or
// ended.
func (l *Loader) pieces(b []byte, f func(piece []byte)) {
	for len(b) > pieceSize {
		began := time.Now()
		f(b[:pieceSize])
		b = b[pieceSize:]
		l.options.Worked(time.Since(began))
	}
	f(b)
}

// keyOf returns the key of an HMAC. A key longer than pieceSize is hashed first, in pieces. RFC 2104 requires
// the same hash for long keys.
func (l *Loader) keyOf(make func() hash.Hash, key []byte) []byte {
	if len(key) <= pieceSize {
		return key
	}
	h := make()
	l.pieces(key, func(piece []byte) { h.Write(piece) })
	return h.Sum(nil)
}
