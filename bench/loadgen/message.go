package loadgen

import (
	"bytes"
	"cmp"
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

// newMessage makes the message of a player. next is whom ToNext means.
func newMessage(cfg *Config, c *webSocket, next int32) *message {
	m, peer := &message{key: c.key, stampAt: -1}, c.of.peer
	payload := cfg.Message
	if payload == nil {
		payload = make([]byte, cfg.PayloadBytes)
		if cfg.To == ToAnything {
			copy(payload[stampBytes:], mark)
		}
	}
	op := cmp.Or(cfg.OpCode, rtwire.OpLoad)
	var unit []byte
	switch {
	case c.protocol != nil:
		unit = c.protocol.Message(payload)
	case c.numbered:
		unit, m.relSeq, m.ack = rtwire.AppendNumberedMessage(nil, op, peer, rtwire.AllPlayers, payload)
	case cfg.To == ToSelf:
		unit = rtwire.AppendPlayerMessage(nil, op, peer, peer, payload)
	case cfg.To == ToNext:
		unit = rtwire.AppendPlayerMessage(nil, op, peer, next, payload)
	case cfg.To == ToServer, cfg.To == ToScript, cfg.To == ToAnything:
		unit = rtwire.AppendPlayerMessage(nil, op, peer, rtwire.Server, payload)
	case cfg.To == ToGroup:
		unit = rtwire.AppendGroupMessage(nil, op, peer, c.of.group, payload)
	default:
		unit = rtwire.AppendGroupMessage(nil, op, peer, rtwire.AllPlayers, payload)
	}
	if cfg.Message == nil {
		m.stampAt = len(unit) - len(payload)
	}
	m.frame = appendFrame(nil, opBinary, c.key, unit)
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
	if m.stampAt < 0 {
		return m.frame
	}
	b := m.unit[m.stampAt : m.stampAt+stampBytes]
	binary.LittleEndian.PutUint64(b, uint64(nanos))
	mask(b, m.key, m.stampAt)
	return m.frame
}

// mark follows the stamp where a script chooses the op code of what comes back.
var mark = []byte("stamped!")

// stampOf reads the intended send time back; ok is false for a packet that is not the swarm's own.
func stampOf(p rtwire.Packet, marked bool) (nanos int64, ok bool) {
	switch {
	case len(p.Payload) < stampBytes:
		return 0, false
	case marked:
		if !bytes.HasPrefix(p.Payload[stampBytes:], mark) {
			return 0, false
		}
	case p.OpCode != rtwire.OpLoad:
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(p.Payload)), true
}
