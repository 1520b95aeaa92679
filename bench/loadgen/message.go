package loadgen

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// stampBytes is the length of the intended send time at the start of a payload.
const stampBytes = 8

// message is the one message that a player sends again and again. It is stored as a complete masked frame and owned by
// the pacer.
type message struct {
	frame  []byte
	unit   []byte // inside frame, masked
	stamps []int  // offsets of the send times in unit
	text   bool   // the send times are text
	sender int    // the sender's number in its room, for text stamps
	key    [4]byte
}

// newMessage makes the message of a player.
func newMessage(cfg *Config, c *webSocket) *message {
	m, peer := &message{key: c.key, text: cfg.To == ToAnything, sender: c.of.number}, c.of.peer
	payload := make([]byte, cfg.PayloadBytes)
	if m.text {
		payload = expanded(cfg.Message, cfg.PayloadBytes)
	}
	op := cmp.Or(cfg.OpCode, OpLoad)
	var unit []byte
	switch {
	case c.protocol != nil:
		unit = c.protocol.Message(payload)
	case cfg.To == ToSelf:
		unit = AppendPlayerMessage(nil, op, peer, peer, payload)
	case cfg.To == ToServer, cfg.To == ToAnything, cfg.To == ToTicks:
		unit = AppendPlayerMessage(nil, op, peer, ServerPeer, payload)
	default:
		unit = AppendGroupMessage(nil, op, peer, AllPlayers, payload)
	}
	begin := len(unit) - len(payload)
	if m.text {
		for _, at := range placesOf(payload, emptyStamp) {
			m.stamps = append(m.stamps, begin+at+len(mark))
		}
	} else {
		m.stamps = []int{begin}
	}
	m.frame = appendFrame(nil, opBinary, c.key, unit)
	m.unit = m.frame[len(m.frame)-len(unit):]
	return m
}

// stamped returns the frame with the given send time. The result is valid until the next call.
func (m *message) stamped(nanos int64) []byte {
	for _, at := range m.stamps {
		b := m.unit[at : at+stampBytes]
		if m.text {
			b = m.unit[at : at+stampDigits]
			putDigits(b, stampValue(nanos, m.sender))
		} else {
			binary.LittleEndian.PutUint64(b, uint64(nanos))
		}
		mask(b, m.key, at)
	}
	return m.frame
}

// stampOf reads the intended send time of a packet. ok is false if the packet is not a message of the swarm.
func stampOf(p Packet) (nanos int64, ok bool) {
	if p.OpCode != OpLoad || len(p.Payload) < stampBytes {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(p.Payload)), true
}

// placesOf returns the offsets of all occurrences of what in b.
func placesOf(b, what []byte) (places []int) {
	for from := 0; ; {
		at := bytes.Index(b[from:], what)
		if at < 0 {
			return places
		}
		places = append(places, from+at)
		from += at + len(what)
	}
}
