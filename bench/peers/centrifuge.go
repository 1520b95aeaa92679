package peers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"troupe/bench/loadgen"
)

// Protobuf keys of the client protocol of centrifuge (definitions/client.proto). All messages are length-delimited.
const (
	commandID      = 1 << 3
	commandConnect = 4<<3 | 2
	commandSend    = 12<<3 | 2
	connectData    = 2<<3 | 2
	sendData       = 1<<3 | 2

	replyError   = 2<<3 | 2
	replyPush    = 4<<3 | 2
	replyConnect = 5<<3 | 2
	pushPub      = 4<<3 | 2
	pubData      = 4<<3 | 2
)

// centrifuge implements the Protobuf protocol of centrifuge. A player names its room when it connects.
type centrifuge struct{}

// Path implements loadgen.Protocol.
func (centrifuge) Path(context.Context, string, loadgen.Login) (string, error) {
	return "/connection/websocket?cf_protocol=protobuf", nil
}

// Hello returns the connect command.
func (centrifuge) Hello(login loadgen.Login) []byte {
	connect := appendField(nil, connectData, strconv.AppendInt(nil, int64(login.Room), 10))
	command := binary.AppendUvarint(binary.AppendUvarint(nil, commandID), 1)
	return delimited(appendField(command, commandConnect, connect))
}

// Joining waits for the answer to the connect command. With that answer, the player is in its room.
func (centrifuge) Joining(_ loadgen.Login, message []byte) (answers [][]byte, joined bool, err error) {
	for len(message) > 0 {
		reply, rest, err := undelimited(message)
		if err != nil {
			return nil, false, err
		}
		message = rest
		if text, ok := fieldOf(reply, replyError); ok {
			return nil, false, fmt.Errorf("refused: %q", text)
		}
		if _, ok := fieldOf(reply, replyConnect); ok {
			joined = true
		}
	}
	return nil, joined, nil
}

// Message returns a send command. The server publishes the payload to the room and does not reply.
func (centrifuge) Message(payload []byte) []byte {
	return delimited(appendField(nil, commandSend, appendField(nil, sendData, payload)))
}

// pong is an empty command, a client's answer to an empty reply.
var pong = []byte{0}

// Next splits off one reply. A message contains several replies if the server was busy.
func (centrifuge) Next(message []byte) (part loadgen.Part, rest []byte, err error) {
	reply, rest, err := undelimited(message)
	if err != nil {
		return part, nil, err
	}
	if len(reply) == 0 {
		return loadgen.Part{Answer: pong}, rest, nil
	}
	if push, ok := fieldOf(reply, replyPush); ok {
		if pub, ok := fieldOf(push, pushPub); ok {
			part.Payload, _ = fieldOf(pub, pubData)
		}
	}
	return part, rest, nil
}

var errPrefix = errors.New("a reply that ends early")

func undelimited(b []byte) (message, rest []byte, err error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, errPrefix
	}
	return b[w : w+int(n)], b[w+int(n):], nil
}

func delimited(message []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(message))), message...)
}

func appendField(dst []byte, key uint64, value []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(dst, key), uint64(len(value))), value...)
}

// fieldOf returns the first length-delimited field with a key. ok is false if there is none or the message is
// malformed.
func fieldOf(message []byte, key uint64) (value []byte, ok bool) {
	for len(message) > 0 {
		f, rest, err := loadgen.NextField(message)
		if err != nil {
			return nil, false
		}
		if f.Key == key {
			return f.Bytes, true
		}
		message = rest
	}
	return nil, false
}
