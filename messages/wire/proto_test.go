package wire

import (
	"context"
	"sync"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// described is packet.proto as parsed for protobuf's own codec. The tests compare the hand-written codec with that
// codec.
var described = sync.OnceValue(func() protoreflect.MessageDescriptors {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := compiler.Compile(context.Background(), "packet.proto")
	if err != nil {
		panic(err)
	}
	return files[0].Messages()
})

// protoOf returns an empty message of packet.proto.
func protoOf(message protoreflect.Name) *dynamicpb.Message {
	return dynamicpb.NewMessage(described().ByName(message))
}

// protoBytes encodes a message of packet.proto.
func protoBytes(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// get returns a field of a message.
func get[T any](m protoreflect.Message, name protoreflect.Name) T {
	return m.Get(m.Descriptor().Fields().ByName(name)).Interface().(T)
}

// oneof returns the inner message of a packet and its field number. It returns nil and 0 if there is none.
func oneof(m protoreflect.Message) (protoreflect.Message, Command) {
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("message"))
	if fd == nil {
		return nil, CommandNone
	}
	return m.Get(fd).Message(), Command(fd.Number())
}

// headerOf returns the Header that the hand-written parser should return for a packet, without its inner message.
func headerOf(p protoreflect.Message) Header {
	return Header{
		OpCode: get[int32](p, "opCode"), Sequence: get[int32](p, "sequenceNumber"), TargetPlayer: get[int32](p, "targetPlayer"),
		TargetGroup: get[int32](p, "targetGroup"), Sender: get[int32](p, "sender"), Reliable: get[bool](p, "reliable"),
		ClientVersion: get[int32](p, "clientVersion"), Payload: get[[]byte](p, "payload"), RelSeq: get[uint64](p, "relSeq"), Ack: get[uint64](p, "ack"),
	}
}

// packet is the inverse of headerOf.
func packet(h *Header) proto.Message {
	p := protoOf("Packet")
	for name, value := range map[protoreflect.Name]any{
		"opCode": h.OpCode, "sequenceNumber": h.Sequence, "targetPlayer": h.TargetPlayer, "targetGroup": h.TargetGroup, "sender": h.Sender,
		"reliable": h.Reliable, "clientVersion": h.ClientVersion, "payload": h.Payload, "relSeq": h.RelSeq, "ack": h.Ack,
	} {
		p.Set(p.Descriptor().Fields().ByName(name), protoreflect.ValueOf(value))
	}
	return p
}

// handOf returns the value that the hand-written parser should return for a packet's inner message.
func handOf(p protoreflect.Message) any {
	m, command := oneof(p)
	switch command {
	case CommandLogin:
		return loginOf(m)
	case CommandLoginResult:
		var alternates []string
		for list, i := get[protoreflect.List](m, "alternates"), 0; i < min(list.Len(), AlternatesMax); i++ {
			alternates = append(alternates, list.Get(i).String())
		}
		return LoginResult{
			Success: get[bool](m, "success"), ReconnectToken: get[string](m, "reconnectToken"), PeerID: get[int32](m, "peerId"),
			FastPort: get[int32](m, "fastPort"), CACert: get[[]byte](m, "caCert"), ConnectToken: get[string](m, "connectToken"),
			Caps: get[uint64](m, "caps"), LastReceived: get[uint64](m, "lastReceived"), Outcome: get[uint64](m, "outcome"),
			WindowMs: get[uint64](m, "windowMs"), Base: get[uint64](m, "base"), RetryAfterMs: get[uint64](m, "retryAfterMs"), Lost: get[uint64](m, "lost"),
			Endpoints: get[string](m, "endpoints"), Alternates: alternates, Over: Over(get[uint64](m, "over")),
		}
	case CommandVerifyIdentity:
		return VerifyIdentity{PeerID: get[int32](m, "peerId"), ConnectToken: get[string](m, "connectToken")}
	case CommandVerifyIdentityResult:
		return VerifyIdentityResult{Success: get[bool](m, "success"), PeerID: get[int32](m, "peerId")}
	case CommandJoinGroup, CommandLeaveGroup, CommandRequestGroupMembership:
		return get[int32](m, "group")
	case CommandGroupMembershipUpdate:
		members, players := Membership{Group: get[int32](m, "group")}, get[protoreflect.List](m, "players")
		for i := range players.Len() {
			members.Players = append(members.Players, int32(players.Get(i).Int()))
		}
		return members
	}
	return nil
}

func loginOf(m protoreflect.Message) Login {
	return Login{
		PlayerSessionID: get[string](m, "playerSessionId"), ClientVersion: get[int32](m, "clientVersion"),
		Caps: get[uint64](m, "caps"), ReconnectToken: get[string](m, "reconnectToken"), LastReceived: get[uint64](m, "lastReceived"),
	}
}
