package wire

import "google.golang.org/protobuf/encoding/protowire"

// Field numbers of Packet (realtime.md 3.1). Numbers from 1001 belong to the extension.
const (
	fieldOpCode        = 1
	fieldSequence      = 2
	fieldTargetPlayer  = 3
	fieldTargetGroup   = 4
	fieldSender        = 5
	fieldReliable      = 6
	fieldClientVersion = 7
	fieldPayload       = 15
	fieldRelSeq        = 1001
	fieldAck           = 1002
)

// Header is a decoded Packet. Payload and Inner point into the input, so copy what must live longer. It is a plain
// value without locks. Reuse one Header per connection.
type Header struct {
	OpCode        int32 // see the Op constants
	Sequence      int32 // only on the fast channel: sequence number, from 0 (realtime.md 9)
	TargetPlayer  int32 // peer id, ServerPeer or NoPeer
	TargetGroup   int32 // group id, AllPlayers or NoGroup
	Sender        int32 // as written by the sender; must not be trusted if it comes from a client
	ClientVersion int32 // no known client sets it in the packet
	Reliable      bool  // as written by the sender
	Command       Command
	Payload       []byte // developer data; nil and empty mean the same
	Inner         []byte // encoded inner message of the kind Command; well-formed
	RelSeq        uint64 // extension: number of this reliable packet; 0 means none
	Ack           uint64 // extension: highest reliable number received; 0 means none
}

// Parse decodes a packet, as returned by SplitUnit, into h and overwrites h's earlier contents. After an error h is the
// zero value.
//
// Parse accepts and refuses the same input as protobuf's decoder, including inner messages and except for
// GroupDepthMax. So Inner can be passed to the parser of its command. Parse allocates no memory for input that known
// clients send. Only if a packet has consecutive copies of an inner message, protobuf requires that they are merged,
// and Inner becomes a new slice. Of different inner messages the last one wins.
//
// Errors match ErrMalformed. Parse applies no limits on sizes.
func (h *Header) Parse(packet []byte) error {
	*h = Header{}
	if err := h.parse(packet); err != nil {
		*h = Header{}
		return err
	}
	return nil
}

// ParseUnit decodes the packet of the first unit in b into h and returns the packet's bytes. It combines SplitUnit and
// Parse.
func (h *Header) ParseUnit(b []byte) (packet []byte, err error) {
	if packet, err = SplitUnit(b); err != nil {
		*h = Header{}
		return nil, err
	}
	return packet, h.Parse(packet)
}

func (h *Header) parse(b []byte) (err error) {
	var f field
	joined := false // whether Inner is a slice that we have allocated
	for len(b) > 0 {
		if b, err = f.next(b); err != nil {
			return err
		}
		switch f.typ {
		case typeVarint:
			h.setVarint(f.number, f.varint)
		case typeBytes:
			if f.number == fieldPayload {
				h.Payload = f.bytes
			} else if isCommand(f.number) {
				if joined, err = h.setInner(Command(f.number), f.bytes, joined); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// setVarint stores one integer field. It ignores unknown field numbers.
func (h *Header) setVarint(number, v uint64) {
	switch number {
	case fieldOpCode:
		h.OpCode = int32(protowire.DecodeZigZag(v & (1<<32 - 1)))
	case fieldSequence:
		h.Sequence = int32(v)
	case fieldTargetPlayer:
		h.TargetPlayer = int32(v)
	case fieldTargetGroup:
		h.TargetGroup = int32(v)
	case fieldSender:
		h.Sender = int32(v)
	case fieldReliable:
		h.Reliable = v != 0
	case fieldClientVersion:
		h.ClientVersion = int32(v)
	case fieldRelSeq:
		h.RelSeq = v
	case fieldAck:
		h.Ack = v
	}
}

// setInner stores a member of the oneof. If the same member occurs again, its parts are concatenated, which is
// equivalent to merging. Each part is checked separately, as protobuf's decoder does. The result says whether Inner is
// now a slice that we have allocated. Later parts are appended to that slice in place, so that n parts copy each byte
// O(1) times.
func (h *Header) setInner(command Command, part []byte, joined bool) (bool, error) {
	if err := checkInner(command, part); err != nil {
		return false, err
	}
	if h.Command != command {
		h.Command, h.Inner = command, part
		return false, nil
	}
	if !joined {
		h.Inner = append(make([]byte, 0, 2*(len(h.Inner)+len(part))), h.Inner...)
	}
	h.Inner = append(h.Inner, part...)
	return true, nil
}
