package sim

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"troupe/transport/transporttest/stock"
)

// packet is a packet with the fields of the extension, which stock clients ignore.
type packet struct {
	stock.Packet
	relSeq, ack uint64

	login  loginFields  // extension fields of Login
	result resultFields // extension fields of LoginResult
}

// loginFields are the extension fields of LoginCommand.
type loginFields struct {
	caps         uint64
	token        string
	lastReceived uint64
}

// resultFields are the extension fields of LoginResult.
type resultFields struct{ caps, lastReceived, outcome, windowMs, base, retryAfterMs, lost uint64 }

// Outcomes of a login in LOGIN_RESPONSE.
const (
	outcomeNew     = 0
	outcomeResumed = 1
	outcomeGap     = 2
)

const (
	typeVarint = 0
	typeBytes  = 2
)

func putNumber(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|typeVarint), v)
}

func putBytes(b []byte, field int, v []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|typeBytes), uint64(len(v)))
	return append(b, v...)
}

// encode returns p as a unit.
func (p *packet) encode() []byte {
	outer := p.Packet
	outer.Login = nil
	b := stock.EncodePacket(outer)
	if l := p.Login; l != nil {
		in := putBytes(nil, 1, []byte(l.PlayerSessionID))
		in = putNumber(in, 2, uint64(l.ClientVersion))
		in = putNumber(in, 1001, p.login.caps)
		if p.login.token != "" {
			in = putBytes(in, 1002, []byte(p.login.token))
		}
		b = putBytes(b, 30, putNumber(in, 1003, p.login.lastReceived))
	}
	return stock.Unit(putNumber(putNumber(b, 1001, p.relSeq), 1002, p.ack))
}

// decode decodes a unit, which must contain exactly one packet.
func decode(unit []byte) (p packet, err error) {
	b, rest, err := stock.SplitUnit(unit)
	if err != nil {
		return p, err
	}
	if len(rest) > 0 {
		return p, fmt.Errorf("%d bytes behind a unit", len(rest))
	}
	if p.Packet, err = stock.DecodePacket(b); err != nil || len(p.UnknownFields) == 0 {
		return p, err
	}
	fields(b, func(field int, v uint64, in []byte) {
		switch field {
		case 1001:
			p.relSeq = v
		case 1002:
			p.ack = v
		case 31:
			r := &p.result
			slots := map[int]*uint64{1001: &r.caps, 1002: &r.lastReceived, 1003: &r.outcome, 1004: &r.windowMs, 1005: &r.base, 1006: &r.retryAfterMs, 1007: &r.lost}
			fields(in, func(field int, v uint64, _ []byte) {
				if slot := slots[field]; slot != nil {
					*slot = v
				}
			})
		}
	})
	return p, nil
}

// fields calls do for each field of a message. The message must be valid and have only varints and bytes.
func fields(b []byte, do func(field int, v uint64, in []byte)) {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		v, m := binary.Uvarint(b[n:])
		b = b[n+m:]
		var in []byte
		if key&7 == typeBytes {
			in, b = b[:v], b[v:]
		}
		do(int(key>>3), v, in)
	}
}

// Op codes of the messages of players and games.
const (
	opReliable int32 = 100
	opFast     int32 = 101
)

// serverSender is the sender in the uids of a game's messages.
const serverSender = 255

// uid identifies one message of a run. unit is the numbering that n belongs to; it begins at 1. A v2 device
// has a unit for each presence, and a stock device one for each connection.
type uid struct {
	from uint8
	unit uint16
	n    uint32
}

func (u uid) String() string { return fmt.Sprintf("%d.%d.%d", u.from, u.unit, u.n) }

// canaryBytes is the length of the part of a payload that identifies the game session (RL-11).
const canaryBytes = 8

// payload returns a payload: the canary, the uid, a filling, and a checksum of all of them.
func payload(canary [canaryBytes]byte, u uid, fill int) []byte {
	b := append([]byte(nil), canary[:]...)
	b = append(b, u.from)
	b = binary.BigEndian.AppendUint16(b, u.unit)
	b = binary.BigEndian.AppendUint32(b, u.n)
	for i := range fill {
		b = append(b, byte(i)+byte(u.n))
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// parsePayload parses a payload. ok is false if the checksum is wrong.
func parsePayload(b []byte) (canary [canaryBytes]byte, u uid, ok bool) {
	if len(b) < canaryBytes+7+4 {
		return canary, u, false
	}
	body := b[:len(b)-4]
	copy(canary[:], body)
	u = uid{body[canaryBytes], binary.BigEndian.Uint16(body[canaryBytes+1:]), binary.BigEndian.Uint32(body[canaryBytes+3:])}
	return canary, u, crc32.ChecksumIEEE(body) == binary.BigEndian.Uint32(b[len(b)-4:])
}
