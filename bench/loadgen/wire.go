package loadgen

// This file implements the small part of the Realtime wire format that the benchmarks need: LOGIN, its answer, and
// group and player messages. Each is one varint-framed protobuf Packet. The code is deliberately separate from
// messages/wire: the load generator must not share a codec, or a bug of one, with the server that it measures. It
// supports neither groups other than AllPlayers nor limits.

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Op codes of the benchmarks.
const (
	OpLogin         int32 = 0
	OpLoginResponse int32 = -1
	OpLoad          int32 = 7 // the load generator's own messages
)

// Reserved ids.
const (
	ServerPeer int32 = -1 // peer id of the server
	AllPlayers int32 = -1 // group of all players
)

// clientVersion is what every known client writes into LOGIN.
const clientVersion = 2

// Protobuf keys (field number << 3 | wire type) of Packet.
const (
	keyOpCode       = 1<<3 | typeVarint
	keyTargetPlayer = 3<<3 | typeVarint
	keyTargetGroup  = 4<<3 | typeVarint
	keySender       = 5<<3 | typeVarint
	keyReliable     = 6<<3 | typeVarint
	keyPayload      = 15<<3 | typeBytes
	keyLogin        = 30<<3 | typeBytes
	keyLoginResult  = 31<<3 | typeBytes
)

const (
	typeVarint = 0
	typeBytes  = 2
)

// errTruncated is returned for a unit or field that ends early.
var errTruncated = errors.New("truncated")

// AppendLogin appends a LOGIN unit as the C# client writes it.
func AppendLogin(dst []byte, playerSessionID string) []byte {
	inner := appendBytes(nil, 1<<3|typeBytes, []byte(playerSessionID))
	inner = appendInt(inner, 2<<3|typeVarint, clientVersion)
	body := appendInt(nil, keyTargetPlayer, ServerPeer)
	body = appendInt(body, keyReliable, 1)
	return appendUnit(dst, appendBytes(body, keyLogin, inner))
}

// AppendLoginResponse appends a successful LOGIN_RESPONSE unit. The peer id is written both as the target of the packet
// and into the login result.
func AppendLoginResponse(dst []byte, peerID, fastPort int32) []byte {
	inner := appendInt(nil, 1<<3|typeVarint, 1)
	inner = appendInt(inner, 3<<3|typeVarint, peerID)
	inner = appendInt(inner, 4<<3|typeVarint, fastPort)
	body := appendOpCode(nil, OpLoginResponse)
	body = appendInt(body, keyTargetPlayer, peerID)
	body = appendInt(body, keySender, ServerPeer)
	body = appendInt(body, keyReliable, 1)
	return appendUnit(dst, appendBytes(body, keyLoginResult, inner))
}

// AppendGroupMessage appends a reliable message to a group. The payload is the last part of the unit.
func AppendGroupMessage(dst []byte, opCode, sender, group int32, payload []byte) []byte {
	return appendMessage(dst, opCode, keyTargetGroup, group, sender, payload)
}

// AppendPlayerMessage appends a reliable message to a player, or to the server. The payload is the last part of the unit.
func AppendPlayerMessage(dst []byte, opCode, sender, player int32, payload []byte) []byte {
	return appendMessage(dst, opCode, keyTargetPlayer, player, sender, payload)
}

func appendMessage(dst []byte, opCode int32, target uint64, id, sender int32, payload []byte) []byte {
	body := appendInt(appendOpCode(nil, opCode), target, id)
	body = appendInt(appendInt(body, keySender, sender), keyReliable, 1)
	return appendUnit(dst, appendBytes(body, keyPayload, payload))
}

// Packet is the result of ParseUnit. Its byte slices alias the unit.
type Packet struct {
	OpCode   int32
	Sender   int32
	Payload  []byte
	Login    []byte // inner LoginCommand; nil if absent
	LoginRes []byte // inner LoginResult; nil if absent
}

// ParseUnit parses one unit. It ignores unknown fields and does not allocate.
func ParseUnit(unit []byte) (Packet, error) {
	var p Packet
	n, w := binary.Uvarint(unit)
	if w <= 0 || n > uint64(len(unit)-w) {
		return p, fmt.Errorf("parse unit length: %w", errTruncated)
	}
	body := unit[w : w+int(n)]
	for len(body) > 0 {
		f, rest, err := NextField(body)
		if err != nil {
			return p, fmt.Errorf("parse packet: %w", err)
		}
		body = rest
		switch f.Key {
		case keyOpCode:
			u := uint32(f.Num)
			p.OpCode = int32(u>>1) ^ -int32(u&1)
		case keySender:
			p.Sender = int32(f.Num)
		case keyPayload:
			p.Payload = f.Bytes
		case keyLogin:
			p.Login = f.Bytes
		case keyLoginResult:
			p.LoginRes = f.Bytes
		}
	}
	return p, nil
}

// PlayerSessionID returns the player session id in an inner LoginCommand.
func PlayerSessionID(login []byte) (string, error) {
	for len(login) > 0 {
		f, rest, err := NextField(login)
		if err != nil {
			return "", fmt.Errorf("parse login: %w", err)
		}
		if f.Key == 1<<3|typeBytes {
			return string(f.Bytes), nil
		}
		login = rest
	}
	return "", errors.New("parse login: no player session id")
}

// ParseLoginResult parses an inner LoginResult. ok reports whether the server accepted the login.
func ParseLoginResult(res []byte) (ok bool, peer int32, err error) {
	for len(res) > 0 {
		f, rest, err := NextField(res)
		if err != nil {
			return false, 0, fmt.Errorf("parse login result: %w", err)
		}
		switch f.Key {
		case 1<<3 | typeVarint:
			ok = f.Num != 0
		case 3<<3 | typeVarint:
			peer = int32(f.Num)
		}
		res = rest
	}
	return ok, peer, nil
}

// Field is one decoded protobuf field. Num is set for varints. Bytes is set for length-delimited fields and aliases the
// message.
type Field struct {
	Key   uint64 // number << 3 | wire type
	Num   uint64
	Bytes []byte
}

// NextField splits the first field off b, which must not be empty. It does not allocate.
func NextField(b []byte) (Field, []byte, error) {
	key, w := binary.Uvarint(b)
	if w <= 0 {
		return Field{}, nil, errTruncated
	}
	b = b[w:]
	v, w := binary.Uvarint(b)
	if w <= 0 {
		return Field{}, nil, errTruncated
	}
	b = b[w:]
	switch key & 7 {
	case typeVarint:
		return Field{Key: key, Num: v}, b, nil
	case typeBytes:
		if v > uint64(len(b)) {
			return Field{}, nil, errTruncated
		}
		return Field{Key: key, Bytes: b[:v]}, b[v:], nil
	default:
		return Field{}, nil, fmt.Errorf("wire type %d", key&7)
	}
}

func appendUnit(dst, body []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(body))), body...)
}

func appendOpCode(dst []byte, op int32) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, keyOpCode), uint64(uint32(op<<1)^uint32(op>>31)))
}

// appendInt appends an int32 field. As protobuf requires, negative values take ten bytes.
func appendInt(dst []byte, key uint64, v int32) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, key), uint64(int64(v)))
}

func appendBytes(dst []byte, key uint64, v []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, key), uint64(len(v)))
	return append(dst, v...)
}
