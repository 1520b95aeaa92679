package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"troupe/messages/wire/pb"
)

// FromJSON turns a text WebSocket message, proto3 JSON of a Packet without
// length (realtime.md 2, D-102), into the bytes of that packet, ready for
// Header.Parse. Unknown names are ignored. No stock client sends text, so this
// is a cold path: it uses the generated code and allocates.
//
// Errors match ErrMalformed: ErrUnitTooLong when text or the packet is above
// UnitMax (numbers can take more bytes than digits), ErrText for text that is not
// a packet or nests deeper than JSONDepthMax. The text is not kept.
func FromJSON(text []byte) (packet []byte, err error) {
	if len(text) > UnitMax {
		return nil, ErrUnitTooLong
	}
	options := protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: JSONDepthMax}
	var p pb.Packet
	if err := options.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%w: %.200s", ErrText, err) // may quote the text
	}
	packet, err = proto.Marshal(&p)
	if err != nil {
		return nil, fmt.Errorf("%w: %.200s", ErrText, err)
	}
	if len(packet) > UnitMax {
		return nil, ErrUnitTooLong
	}
	return packet, nil
}
