package loadgen

import (
	"encoding/binary"

	"troupe/bench/rtwire"
)

// stampBytes is the length of the intended send time at the start of a payload.
const stampBytes = 8

// message is the one message a player sends again and again, kept as a finished masked frame. It belongs to the pacer.
type message struct {
	frame  []byte
	stamp  []byte // the masked stamp inside frame
	key    [4]byte
	offset int // of the stamp in the frame's payload
}

func newMessage(peer int32, payloadBytes int, key [4]byte) *message {
	unit := rtwire.AppendGroupMessage(nil, rtwire.OpLoad, peer, rtwire.AllPlayers, make([]byte, payloadBytes))
	m := &message{frame: appendFrame(nil, opBinary, key, unit), key: key, offset: len(unit) - payloadBytes}
	at := len(m.frame) - payloadBytes
	m.stamp = m.frame[at : at+stampBytes]
	return m
}

// stamped returns the frame carrying the given time, valid until the next call.
func (m *message) stamped(nanos int64) []byte {
	binary.LittleEndian.PutUint64(m.stamp, uint64(nanos))
	mask(m.stamp, m.key, m.offset)
	return m.frame
}

// stampOf reads the intended send time back; ok is false for a packet that is not the swarm's own.
func stampOf(p rtwire.Packet) (nanos int64, ok bool) {
	if p.OpCode != rtwire.OpLoad || len(p.Payload) < stampBytes {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(p.Payload)), true
}
