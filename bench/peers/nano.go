package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"troupe/bench/loadgen"
)

// Packets of nano (docs/communication_protocol.md): a type byte, a length of three bytes, and the data.
const (
	nanoHandshake    = 1
	nanoHandshakeAck = 2
	nanoHeartbeat    = 3
	nanoData         = 4
	nanoKick         = 5

	nanoHead   = 4
	nanoNotify = 1 << 1 // flag of a message in a data packet; the length of the route, the route and the payload follow
	nanoPush   = 3 << 1
)

// Routes of the server in bench/peers/nano.
const (
	nanoJoin    = "Room.Join"
	nanoSay     = "Room.Say"
	nanoJoined  = "j"
	nanoMessage = "m"
)

// nano implements the packet protocol of nano. Each packet is sent in its own WebSocket message.
type nano struct{}

// Path implements loadgen.Protocol.
func (nano) Path(context.Context, string, loadgen.Login) (string, error) { return "/nano", nil }

// Hello returns the handshake packet.
func (nano) Hello(loadgen.Login) []byte {
	return nanoPacket(nanoHandshake, []byte(`{"sys":{"type":"bench","version":"1.0.0"},"user":{}}`))
}

// Joining answers the handshake, asks to join the room, and waits until the player is in it.
func (nano) Joining(login loadgen.Login, message []byte) (answers [][]byte, joined bool, err error) {
	for len(message) > 0 {
		kind, data, rest, err := nextNanoPacket(message)
		if err != nil {
			return nil, false, err
		}
		message = rest
		switch {
		case kind == nanoHandshake:
			room := strconv.AppendInt(nil, int64(login.Room), 10)
			answers = append(answers, nanoPacket(nanoHandshakeAck, nil), nanoPacket(nanoData, nanoNotification(nanoJoin, room)))
		case kind == nanoKick:
			return nil, false, errors.New("kicked")
		case kind == nanoData:
			if _, ok := nanoPushed(data, nanoJoined); ok {
				joined = true
			}
		}
	}
	return answers, joined, nil
}

// Message implements loadgen.Protocol.
func (nano) Message(payload []byte) []byte {
	return nanoPacket(nanoData, nanoNotification(nanoSay, payload))
}

var nanoBeat = nanoPacket(nanoHeartbeat, nil)

// Next splits off one packet.
func (nano) Next(message []byte) (part loadgen.Part, rest []byte, err error) {
	kind, data, rest, err := nextNanoPacket(message)
	switch {
	case err != nil:
		return part, nil, err
	case kind == nanoHeartbeat:
		part.Answer = nanoBeat
	case kind == nanoKick:
		return part, nil, errors.New("kicked")
	case kind == nanoData:
		part.Payload, _ = nanoPushed(data, nanoMessage)
	}
	return part, rest, nil
}

func nanoPacket(kind byte, data []byte) []byte {
	n := len(data)
	return append([]byte{kind, byte(n >> 16), byte(n >> 8), byte(n)}, data...)
}

func nanoNotification(route string, payload []byte) []byte {
	return append(append([]byte{nanoNotify, byte(len(route))}, route...), payload...)
}

func nextNanoPacket(b []byte) (kind byte, data, rest []byte, err error) {
	if len(b) < nanoHead {
		return 0, nil, nil, fmt.Errorf("a packet of %d bytes", len(b))
	}
	n := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	if n > len(b)-nanoHead {
		return 0, nil, nil, fmt.Errorf("a packet of %d bytes that ends after %d", n, len(b)-nanoHead)
	}
	return b[0], b[nanoHead : nanoHead+n], b[nanoHead+n:], nil
}

// nanoPushed returns the payload of a push message if the message has the given route.
func nanoPushed(data []byte, route string) (payload []byte, ok bool) {
	const flag, length = 0, 1
	if len(data) < 2+len(route) || data[flag] != nanoPush || int(data[length]) != len(route) || string(data[2:2+len(route)]) != route {
		return nil, false
	}
	return data[2+len(route):], true
}
