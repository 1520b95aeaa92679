package loadgen

import (
	"encoding/binary"

	"troupe/bench/rtwire"
)

// stampBytes is the length of the intended send time at the start of a payload.
const stampBytes = 8

// message is the one message a player sends again and again, kept as a finished masked frame. It belongs to the pacer.
type message struct {
	frame       []byte
	unit        []byte // inside frame, masked
	stampAt     int    // in unit, as the next two; those are 0 without the extension
	relSeq, ack int
	next        uint64 // the number of the next one
	key         [4]byte
}

func newMessage(peer int32, payloadBytes int, key [4]byte, numbered bool, to Target) *message {
	m := &message{key: key}
	payload := make([]byte, payloadBytes)
	var unit []byte
	switch {
	case numbered:
		unit, m.relSeq, m.ack = rtwire.AppendNumberedMessage(nil, rtwire.OpLoad, peer, rtwire.AllPlayers, payload)
	case to == ToSelf:
		unit = rtwire.AppendPlayerMessage(nil, rtwire.OpLoad, peer, peer, payload)
	case to == ToServer:
		unit = rtwire.AppendPlayerMessage(nil, rtwire.OpLoad, peer, rtwire.Server, payload)
	default:
		unit = rtwire.AppendGroupMessage(nil, rtwire.OpLoad, peer, rtwire.AllPlayers, payload)
	}
	m.stampAt = len(unit) - payloadBytes
	m.frame = appendFrame(nil, opBinary, key, unit)
	m.unit = m.frame[len(m.frame)-len(unit):]
	return m
}

// number gives the message its next number and an acknowledgement.
func (m *message) number(ack uint64) {
	m.next++
	for _, f := range []struct {
		at int
		n  uint64
	}{{m.relSeq, m.next}, {m.ack, ack}} {
		b := m.unit[f.at : f.at+rtwire.NumberBytes]
		rtwire.PutNumber(b, f.n)
		mask(b, m.key, f.at)
	}
}

// stamped returns the frame carrying the given time, valid until the next call.
func (m *message) stamped(nanos int64) []byte {
	b := m.unit[m.stampAt : m.stampAt+stampBytes]
	binary.LittleEndian.PutUint64(b, uint64(nanos))
	mask(b, m.key, m.stampAt)
	return m.frame
}

// stampOf reads the intended send time back; ok is false for a packet that is not the swarm's own.
func stampOf(p rtwire.Packet) (nanos int64, ok bool) {
	if p.OpCode != rtwire.OpLoad || len(p.Payload) < stampBytes {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(p.Payload)), true
}
