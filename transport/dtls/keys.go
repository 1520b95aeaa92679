package dtls

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"

	"troupe/messages/counters"
)

const (
	tagSize = 16
	// explicitSize is the size of the explicit part of a GCM nonce, which the record contains.
	explicitSize = 8
	// numberMax is the largest record number. An association ends before it is reached, because no
	// number may be used twice (RFC 6347 4.1).
	numberMax = 1<<48 - 1
	// gcmRecordsMax is the maximum number of records that one association seals with AES-GCM (D-21).
	gcmRecordsMax = 1 << 20
)

// keys are the ciphers for both directions of one association.
type keys struct {
	suite         counters.Suite
	seal, open    cipher.AEAD
	sealIV, outIV [12]byte // GCM uses only the first four bytes
}

// secrets are the result of a handshake.
type secrets struct {
	suite               counters.Suite
	localKey, remoteKey []byte
	localIV, remoteIV   []byte
	resumed             bool
}

func newKeys(s *secrets) (k keys, err error) {
	k.suite = s.suite
	copy(k.sealIV[:], s.localIV)
	copy(k.outIV[:], s.remoteIV)
	if k.seal, err = newAEAD(s.suite, s.localKey); err == nil {
		k.open, err = newAEAD(s.suite, s.remoteKey)
	}
	return k, err
}

func newAEAD(suite counters.Suite, key []byte) (cipher.AEAD, error) {
	if suite == counters.SuiteChaCha20 {
		return chacha20poly1305.New(key)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// scratch has the buffers for one record. It is pooled, because nonce and additional data would escape to the heap.
type scratch struct {
	nonce [12]byte
	aad   [13]byte
	buf   [datagramMax]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// sealRecord encrypts plain as a record in s.buf.
func (k *keys) sealRecord(s *scratch, typ contentType, number uint64, plain []byte) []byte {
	at := headerSize
	binary.BigEndian.PutUint64(s.aad[:], 1<<48|number)
	if k.suite == counters.SuiteAESGCM {
		copy(s.nonce[:4], k.sealIV[:4])
		copy(s.nonce[4:], s.aad[:8]) // the number itself is never used twice, unlike the library's random nonce
		copy(s.buf[at:], s.aad[:8])
		at += explicitSize
	} else {
		s.mix(&k.sealIV)
	}
	s.additional(typ, len(plain))
	sealed := k.seal.Seal(s.buf[:at], s.nonce[:], plain, s.aad[:])
	putHeader(sealed, typ, number, len(sealed)-headerSize)
	return sealed
}

// openRecord decrypts r in place. The plain text is part of r's datagram.
func (k *keys) openRecord(s *scratch, r *record) (plain []byte, ok bool) {
	sealed := r.fragment
	binary.BigEndian.PutUint64(s.aad[:], uint64(r.epoch)<<48|r.number)
	if k.suite == counters.SuiteAESGCM {
		if len(sealed) < explicitSize+tagSize {
			return nil, false
		}
		copy(s.nonce[:4], k.outIV[:4])
		copy(s.nonce[4:], sealed[:explicitSize])
		sealed = sealed[explicitSize:]
	} else {
		if len(sealed) < tagSize {
			return nil, false
		}
		s.mix(&k.outIV)
	}
	s.additional(r.typ, len(sealed)-tagSize)
	plain, err := k.open.Open(sealed[:0], s.nonce[:], sealed, s.aad[:])
	return plain, err == nil
}

// mix sets the nonce of RFC 7905: the padded record number XOR the IV.
func (s *scratch) mix(iv *[12]byte) {
	s.nonce = *iv
	for i, b := range s.aad[:8] {
		s.nonce[4+i] ^= b
	}
}

// additional completes the additional data. The caller has set the number.
func (s *scratch) additional(typ contentType, length int) {
	s.aad[8] = byte(typ)
	binary.BigEndian.PutUint16(s.aad[9:], version12)
	binary.BigEndian.PutUint16(s.aad[11:], uint16(length))
}
