package dtls

import (
	"encoding/binary"

	"troupe/messages/counters"
)

// Sizes in bytes, from RFC 6347 section 4.1 and chosen by this host.
const (
	headerSize = 13
	// PlainMax is the largest plain text that Write accepts. With all headers it fits an Ethernet frame (realtime.md 8.2).
	PlainMax = 1400
	// datagramMax is the largest datagram that is received; larger ones are dropped.
	datagramMax = 2048
)

// contentType is the type of a record: its first byte.
type contentType uint8

const (
	changeCipherSpec contentType = 20
	alert            contentType = 21
	handshake        contentType = 22
	applicationData  contentType = 23
)

// version12 is DTLS 1.2 on the wire. A client's first hello may have version10, which is DTLS 1.0.
const (
	version10 = 0xfeff
	version12 = 0xfefd
)

// record is one record of a datagram. Its slices point into the datagram.
type record struct {
	raw      []byte // header and fragment
	typ      contentType
	version  uint16
	epoch    uint16
	number   uint64 // 48 bits
	fragment []byte
}

// nextRecord splits the first record off a datagram. If there is no valid record, it returns the reason.
func nextRecord(datagram []byte) (r record, rest []byte, drop counters.RecordDrop) {
	if len(datagram) < headerSize {
		return record{}, nil, counters.RecordMalformed
	}
	size := headerSize + int(binary.BigEndian.Uint16(datagram[11:]))
	r = record{typ: contentType(datagram[0]), version: binary.BigEndian.Uint16(datagram[1:]), epoch: binary.BigEndian.Uint16(datagram[3:])}
	r.number = uint64(binary.BigEndian.Uint16(datagram[5:]))<<32 | uint64(binary.BigEndian.Uint32(datagram[7:]))
	if size > len(datagram) || size == headerSize || r.version != version12 && r.version != version10 ||
		r.typ < changeCipherSpec || r.typ > applicationData {
		return record{}, nil, counters.RecordMalformed
	}
	r.raw, r.fragment = datagram[:size:size], datagram[headerSize:size:size]
	return r, datagram[size:], 0
}

// putHeader writes a record's header for epoch 1.
func putHeader(b []byte, typ contentType, number uint64, length int) {
	b[0] = byte(typ)
	binary.BigEndian.PutUint16(b[1:], version12)
	binary.BigEndian.PutUint64(b[3:], 1<<48|number)
	binary.BigEndian.PutUint16(b[11:], uint16(length))
}
