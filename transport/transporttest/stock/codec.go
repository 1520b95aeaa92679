package stock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every error of the decoding functions.
var ErrMalformed = errors.New("malformed packet")

const (
	wireVarint = 0
	wireFixed8 = 1
	wireBytes  = 2
	wireFixed4 = 5
)

// Unit prepends the varint length to the bytes of a packet. Packets have this form on both channels.
func Unit(packet []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(packet))), packet...)
}

// EncodeUnit is Unit(EncodePacket(p)).
func EncodeUnit(p Packet) []byte { return Unit(EncodePacket(p)) }

// SplitUnit returns the packet in the first unit of b, and the remaining bytes.
func SplitUnit(b []byte) (packet, rest []byte, err error) {
	length, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, fmt.Errorf("%w: bad unit length", ErrMalformed)
	}
	if length > uint64(len(b)-n) {
		return nil, nil, fmt.Errorf("%w: unit of %d bytes in a message that has %d", ErrMalformed, length, len(b)-n)
	}
	return b[n : n+int(length)], b[n+int(length):], nil
}

// LoginPacket returns the LOGIN that a client of the given flavor sends when the connection opens.
func LoginPacket(flavor Flavor, playerSessionID string, payload []byte) Packet {
	p := Packet{
		OpCode: OpLogin, TargetPlayer: ServerID, Reliable: true, Payload: payload,
		Login: &LoginCommand{PlayerSessionID: playerSessionID, ClientVersion: ProtocolClient},
	}
	if flavor == TypeScript {
		p.TargetGroup = AllPlayers
	}
	return p
}

// EncodePacket returns the protobuf bytes of p without the length. Fields are in numerical order, default
// values are omitted, and players are packed unless Unpacked is set.
func EncodePacket(p Packet) []byte {
	var e encoder
	e.uint(1, uint64(uint32(p.OpCode<<1)^uint32(p.OpCode>>31)))
	e.int32(2, p.SequenceNumber)
	e.int32(3, p.TargetPlayer)
	e.int32(4, p.TargetGroup)
	e.int32(5, p.Sender)
	e.bool(6, p.Reliable)
	e.int32(7, p.ClientVersion)
	e.bytes(15, p.Payload)
	if m := p.Login; m != nil {
		e.message(30, func(e *encoder) { e.bytes(1, []byte(m.PlayerSessionID)); e.int32(2, m.ClientVersion) })
	}
	if m := p.LoginResult; m != nil {
		e.message(31, func(e *encoder) {
			e.bool(1, m.Success)
			e.bytes(2, []byte(m.ReconnectToken))
			e.int32(3, m.PeerID)
			e.int32(4, m.FastPort)
			e.bytes(5, m.CACert)
			e.bytes(6, []byte(m.ConnectToken))
		})
	}
	e.empty(32, p.Ping)
	e.empty(33, p.PingResult)
	e.empty(34, p.UDPConnect)
	e.player(35, p.PlayerConnect)
	e.player(36, p.PlayerDisconnect)
	if m := p.VerifyIdentity; m != nil {
		e.message(37, func(e *encoder) { e.int32(1, m.PeerID); e.bytes(2, []byte(m.ConnectToken)) })
	}
	if m := p.VerifyIdentityResult; m != nil {
		e.message(38, func(e *encoder) { e.bool(1, m.Success); e.int32(2, m.PeerID) })
	}
	e.group(40, p.JoinGroup)
	e.group(41, p.LeaveGroup)
	e.group(42, p.RequestGroupMembership)
	if m := p.GroupMembershipUpdate; m != nil {
		e.message(43, func(e *encoder) { e.int32(1, m.Group); e.players(2, m) })
	}
	return e.b
}

type encoder struct{ b []byte }

func (e *encoder) tag(num, wire int) {
	e.b = binary.AppendUvarint(e.b, uint64(num)<<3|uint64(wire))
}

func (e *encoder) uint(num int, v uint64) {
	if v != 0 {
		e.tag(num, wireVarint)
		e.b = binary.AppendUvarint(e.b, v)
	}
}

func (e *encoder) int32(num int, v int32) { e.uint(num, uint64(int64(v))) }

func (e *encoder) bool(num int, v bool) {
	if v {
		e.uint(num, 1)
	}
}

func (e *encoder) bytes(num int, v []byte) {
	if len(v) > 0 {
		e.always(num, v)
	}
}

func (e *encoder) always(num int, v []byte) {
	e.tag(num, wireBytes)
	e.b = append(binary.AppendUvarint(e.b, uint64(len(v))), v...)
}

// message writes an inner message. Unlike a plain field, it is written even if it is empty.
func (e *encoder) message(num int, fill func(*encoder)) {
	var in encoder
	fill(&in)
	e.always(num, in.b)
}

func (e *encoder) empty(num int, m *Empty) {
	if m != nil {
		e.always(num, nil)
	}
}

func (e *encoder) player(num int, m *PlayerRef) {
	if m != nil {
		e.message(num, func(e *encoder) { e.int32(1, m.PeerID) })
	}
}

func (e *encoder) group(num int, m *GroupRef) {
	if m != nil {
		e.message(num, func(e *encoder) { e.int32(1, m.Group) })
	}
}

func (e *encoder) players(num int, m *GroupMembershipUpdate) {
	var packed []byte
	for _, id := range m.Players {
		v := uint64(int64(id))
		if m.Unpacked { // elements are written even if they are zero
			e.tag(num, wireVarint)
			e.b = binary.AppendUvarint(e.b, v)
		} else {
			packed = binary.AppendUvarint(packed, v)
		}
	}
	e.bytes(num, packed)
}

// field is a decoded field. Its value is in v or in data, depending on the wire type.
type field struct {
	num, wire int
	v         uint64
	data      []byte
}

func (f field) int32() int32 { return int32(f.v) }

// DecodePacket decodes the protobuf bytes of one packet without the length. Byte slices in the result share
// memory with b. It follows the rules of proto3: unknown fields are skipped, the last of several values
// applies, and a second inner message replaces the first.
func DecodePacket(b []byte) (Packet, error) {
	var p Packet
	err := eachField(b, func(f field) error {
		switch {
		case f.wire == wireVarint && f.num <= 7:
			p.setNumber(f)
			return nil
		case f.wire == wireBytes && f.num == 15:
			p.Payload = f.data
			return nil
		case f.wire == wireBytes && f.num >= 30 && f.num <= 43 && f.num != 39:
			return p.setInner(f)
		}
		p.unknown(f)
		return nil
	})
	if err != nil {
		return Packet{}, err
	}
	return p, nil
}

func (p *Packet) unknown(f field) { p.UnknownFields = append(p.UnknownFields, int32(f.num)) }

func (p *Packet) setNumber(f field) {
	switch f.num {
	case 1:
		p.OpCode = int32(uint32(f.v)>>1) ^ -int32(f.v&1)
	case 2:
		p.SequenceNumber = f.int32()
	case 3:
		p.TargetPlayer = f.int32()
	case 4:
		p.TargetGroup = f.int32()
	case 5:
		p.Sender = f.int32()
	case 6:
		p.Reliable = f.v != 0
	case 7:
		p.ClientVersion = f.int32()
	}
}

func (p *Packet) setInner(f field) error {
	switch f.num {
	case 30:
		m := inner(p, &p.Login)
		return p.each(f.data, scalars{1: str(&m.PlayerSessionID), 2: num(&m.ClientVersion)})
	case 31:
		m := inner(p, &p.LoginResult)
		return p.each(f.data, scalars{
			1: flag(&m.Success), 2: str(&m.ReconnectToken), 3: num(&m.PeerID), 4: num(&m.FastPort),
			5: blob(&m.CACert), 6: str(&m.ConnectToken),
		})
	case 32:
		inner(p, &p.Ping)
	case 33:
		inner(p, &p.PingResult)
	case 34:
		inner(p, &p.UDPConnect)
	case 35:
		return p.each(f.data, scalars{1: num(&inner(p, &p.PlayerConnect).PeerID)})
	case 36:
		return p.each(f.data, scalars{1: num(&inner(p, &p.PlayerDisconnect).PeerID)})
	case 37:
		m := inner(p, &p.VerifyIdentity)
		return p.each(f.data, scalars{1: num(&m.PeerID), 2: str(&m.ConnectToken)})
	case 38:
		m := inner(p, &p.VerifyIdentityResult)
		return p.each(f.data, scalars{1: flag(&m.Success), 2: num(&m.PeerID)})
	case 40:
		return p.each(f.data, scalars{1: num(&inner(p, &p.JoinGroup).Group)})
	case 41:
		return p.each(f.data, scalars{1: num(&inner(p, &p.LeaveGroup).Group)})
	case 42:
		return p.each(f.data, scalars{1: num(&inner(p, &p.RequestGroupMembership).Group)})
	case 43:
		m := inner(p, &p.GroupMembershipUpdate)
		return p.each(f.data, scalars{1: num(&m.Group), 2: m.addPlayers})
	}
	return p.each(f.data, nil)
}

// inner returns the inner message in *slot, so that a repeated field is merged into it. It creates the
// message if necessary, and removes all other inner messages from p.
func inner[T any](p *Packet, slot **T) *T {
	m := *slot
	p.clearInner()
	if m == nil {
		m = new(T)
	}
	*slot = m
	return m
}

// scalars maps each known field number of an inner message to its setter. A setter returns false if the field
// has an unexpected wire type.
type scalars map[int]func(field) (known bool, err error)

func (p *Packet) each(b []byte, known scalars) error {
	return eachField(b, func(f field) error {
		if set := known[f.num]; set != nil {
			if ok, err := set(f); ok || err != nil {
				return err
			}
		}
		p.unknown(f)
		return nil
	})
}

func num(to *int32) func(field) (bool, error) {
	return func(f field) (bool, error) {
		if f.wire == wireVarint {
			*to = f.int32()
		}
		return f.wire == wireVarint, nil
	}
}

func flag(to *bool) func(field) (bool, error) {
	return func(f field) (bool, error) {
		if f.wire == wireVarint {
			*to = f.v != 0
		}
		return f.wire == wireVarint, nil
	}
}

func str(to *string) func(field) (bool, error) {
	return func(f field) (bool, error) {
		if f.wire == wireBytes {
			*to = string(f.data)
		}
		return f.wire == wireBytes, nil
	}
}

func blob(to *[]byte) func(field) (bool, error) {
	return func(f field) (bool, error) {
		if f.wire == wireBytes {
			*to = bytes.Clone(f.data)
		}
		return f.wire == wireBytes, nil
	}
}

func (m *GroupMembershipUpdate) addPlayers(f field) (bool, error) {
	switch f.wire {
	case wireVarint:
		m.Unpacked = true
		m.Players = append(m.Players, f.int32())
		return true, nil
	case wireBytes:
		for rest := f.data; len(rest) > 0; {
			v, n := binary.Uvarint(rest)
			if n <= 0 {
				return true, fmt.Errorf("%w: bad varint in players", ErrMalformed)
			}
			m.Players, rest = append(m.Players, int32(v)), rest[n:]
		}
		return true, nil
	}
	return false, nil
}

func eachField(b []byte, do func(field) error) error {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		f := field{num: int(key >> 3), wire: int(key & 7)}
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
			return fmt.Errorf("%w: bad field tag", ErrMalformed)
		}
		b = b[n:]
		skip := 0
		switch f.wire {
		case wireVarint:
			if f.v, skip = binary.Uvarint(b); skip <= 0 {
				return fmt.Errorf("%w: bad varint in field %d", ErrMalformed, f.num)
			}
		case wireFixed8:
			skip = 8
		case wireFixed4:
			skip = 4
		case wireBytes:
			data, rest, err := SplitUnit(b)
			if err != nil {
				return fmt.Errorf("field %d: %w", f.num, err)
			}
			f.data, skip = data, len(b)-len(rest)
		default:
			return fmt.Errorf("%w: wire type %d in field %d", ErrMalformed, f.wire, f.num)
		}
		if skip > len(b) {
			return fmt.Errorf("%w: field %d is cut off", ErrMalformed, f.num)
		}
		b = b[skip:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}
