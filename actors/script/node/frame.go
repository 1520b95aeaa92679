package node

import (
	"encoding/binary"
	"errors"
	"fmt"

	"troupe/actors/script"
)

// The protocol. The child reads frames from file descriptor 3 and writes frames to 4.
//
// frame    u32 length of the rest, 5 to 1 MiB; u32 number of the game session; u8 kind; fields
// numbers  little-endian; u8, u32, i32
// text     u32 length, UTF-8; rest: the remaining bytes of the frame
// player   i32 peer id, text player session id, text player id, text player data
// message  i32 op code, i32 sender, i32 target player, i32 target group, u8 reliable, rest payload
//
// The child acknowledges each frame (fromAck) after handling it; this shows that it is alive. Both sides
// handle frames in order, so messages that a script sends before it answers a question are delivered before
// the answer. toConfirm and fromAck are about the process: their number is 0. A frame for a game session that
// has ended is acknowledged and ignored.

const (
	frameMax = 1 << 20 // maximum length of a frame in bytes, without its length field
	headLen  = 5       // game session and kind
)

type toChild uint8

const (
	toLoad    toChild = iota + 1 // rest: JSON for loading the script
	toConfirm                    // no fields; asks for an acknowledgement
	toCall                       // u32 id of the answer, 0 if none is needed; u8 callback; its arguments
	toEnd                        // no fields; the game session has ended
)

// callback numbers the callbacks. In a set of exports, bit 1<<n means that the script exports callback n.
type callback uint8

const (
	onProcessStarted    callback = iota + 1 // rest JSON array of words
	onStartGameSession                      // rest JSON of the game session
	onHealthCheck                           //
	onProcessTerminate                      //
	onPlayerConnect                         // player; rest payload
	onPlayerAccepted                        // player
	onPlayerDetached                        // i32 peer; rest reason
	onPlayerReconnected                     // i32 peer; rest JSON of script.Reconnected
	onPlayerDisconnect                      // i32 peer
	onMessage                               // message
	onSendToPlayer                          // message
	onSendToGroup                           // message
	onPlayerJoinGroup                       // i32 group, i32 peer
	onPlayerLeaveGroup                      // i32 group, i32 peer
	onUpdateGameSession                     // rest JSON array: matchmaker data, reason, ticket
)

// fromChild is the kind of a frame sent by the child.
type fromChild uint8

const (
	fromAck      fromChild = iota + 1 // u32 number of frames handled since the last acknowledgement, at least 1
	fromLoaded                        // u32 exports; rest JSON of the configuration
	fromFailed                        // rest: why the script cannot be loaded
	fromAnswer                        // u32 id, u8 yes
	fromExports                       // u32 exports; sent when they have changed
	fromSend                          // u8 script.How; i32 op code, i32 sender, i32 target; rest payload
	fromMembers                       // i32 group, i32 group whose members receive the list
	fromKick                          // i32 peer; rest reason
	fromEnding                        // processEnding
	fromExit                          // i32 code: the process is about to exit
	fromCrash                         // rest: why the script has failed
	fromLog                           // u8 level, u32 row, text file, rest text
	fromSlow                          // u32 milliseconds; rest: what was slow
	fromErred                         // u8 where (erredInCallback, ...)
	fromBackfill                      // i32 1 to start, 0 to stop
)

const (
	erredInCallback = 1
	erredOutside    = 2
)

var errMalformed = errors.New("malformed frame")

// fields are the decoded fields of a frame from the child. The byte slices point into the read buffer.
type fields struct {
	game    uint32
	kind    fromChild
	flags   uint8
	n       uint32
	a, b, c int32
	file    []byte
	rest    []byte
}

// frameLen returns the length of the first frame in b, including its length field. It returns 0 if b is too
// short to tell.
func frameLen(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, nil
	}
	n := binary.LittleEndian.Uint32(b)
	if n < headLen || n > frameMax {
		return 0, fmt.Errorf("%w: length %d", errMalformed, n)
	}
	return 4 + int(n), nil
}

// parse decodes one frame from the child, without its length field. A frame of a kind without a rest field
// must end after its last field.
func parse(frame []byte) (f fields, err error) {
	r := reader{b: frame}
	f.game, f.kind = r.u32(), fromChild(r.u8())
	rest := false
	switch f.kind {
	case fromEnding:
	case fromAck:
		f.n = r.u32()
		r.bad = r.bad || f.game != 0
	case fromExports:
		f.n = r.u32()
	case fromFailed, fromCrash:
		rest = true
	case fromLoaded, fromSlow:
		f.n, rest = r.u32(), true
	case fromAnswer:
		f.n, f.flags = r.u32(), r.u8()
		r.bad = r.bad || f.flags > 1
	case fromSend:
		f.flags, f.a, f.b, f.c, rest = r.u8(), r.i32(), r.i32(), r.i32(), true
		r.bad = r.bad || !script.How(f.flags).Valid()
	case fromMembers:
		f.a, f.b = r.i32(), r.i32()
	case fromKick:
		f.a, rest = r.i32(), true
	case fromExit, fromBackfill:
		f.a = r.i32()
	case fromLog:
		f.flags, f.n, f.file, rest = r.u8(), r.u32(), r.text(), true
		r.bad = r.bad || f.flags < uint8(script.LevelDebug) || f.flags > uint8(script.LevelCXFatal)
	case fromErred:
		f.flags = r.u8()
		r.bad = r.bad || f.flags < erredInCallback || f.flags > erredOutside
	default:
		r.bad = true
	}
	if rest {
		f.rest = r.b
		r.b = nil
	}
	if r.bad || len(r.b) > 0 {
		return fields{}, fmt.Errorf("%w of kind %d", errMalformed, f.kind)
	}
	return f, nil
}

// reader decodes fields from the beginning of b. Past the end of b it returns zero values and sets bad.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n uint32) []byte {
	if r.bad || uint64(n) > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) i32() int32   { return int32(r.u32()) }
func (r *reader) text() []byte { return r.take(r.u32()) }

// frame encodes the fields of a frame to the child.
type frame struct{ b []byte }

func (f *frame) u8(v uint8)    { f.b = append(f.b, v) }
func (f *frame) u32(v uint32)  { f.b = binary.LittleEndian.AppendUint32(f.b, v) }
func (f *frame) i32(v int32)   { f.u32(uint32(v)) }
func (f *frame) rest(b []byte) { f.b = append(f.b, b...) }
func (f *frame) text(s string) { f.u32(uint32(len(s))); f.b = append(f.b, s...) }
func (f *frame) player(p script.Player) {
	f.i32(int32(p.PeerID))
	f.text(string(p.PlayerSessionID))
	f.text(string(p.PlayerID))
	f.text(p.PlayerData)
}

func (f *frame) message(m *script.Message) {
	f.i32(m.OpCode)
	f.i32(int32(m.Sender))
	f.i32(int32(m.TargetPlayer))
	f.i32(int32(m.TargetGroup))
	if m.Reliable {
		f.u8(1)
	} else {
		f.u8(0)
	}
	f.rest(m.Payload)
}
