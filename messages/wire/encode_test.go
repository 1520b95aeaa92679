package wire

import (
	"bytes"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// id generates player and group ids. The reserved ids occur often.
func id() *rapid.Generator[int32] {
	return rapid.OneOf(rapid.SampledFrom([]int32{-1, 0, 1, 2}), rapid.Int32())
}

func payload() *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 40), rapid.SliceOfN(rapid.Byte(), 120, 400))
}

// message generates an application message with the fields that a frame keeps.
func message() *rapid.Generator[*Header] {
	return rapid.Custom(func(t *rapid.T) *Header {
		return &Header{
			OpCode:       rapid.OneOf(rapid.Int32Range(-20, 400), rapid.Int32()).Draw(t, "op"),
			TargetPlayer: id().Draw(t, "player"),
			TargetGroup:  id().Draw(t, "group"),
			Sender:       id().Draw(t, "sender"),
			Payload:      payload().Draw(t, "payload"),
		}
	})
}

// failer contains the methods that tests, fuzz targets and property checks have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// byProtobuf encodes h as a unit with protobuf's codec.
func byProtobuf(t failer, h *Header) []byte {
	t.Helper()
	b, err := protoBytes(packet(h))
	if err != nil {
		t.Fatal(err)
	}
	return protowire.AppendBytes(nil, b)
}

// checkFrame compares the units and the accessors of a frame with protobuf's codec.
func checkFrame(t failer, h *Header, seq int32, relSeq, ack uint64) {
	t.Helper()
	f := NewFrame(h)
	defer f.Release()
	want := Header{
		OpCode: h.OpCode, TargetPlayer: h.TargetPlayer, TargetGroup: h.TargetGroup,
		Sender: h.Sender, Payload: h.Payload, Reliable: true,
	}
	reliable := f.AppendReliable([]byte("before"))[6:]
	if unit := byProtobuf(t, &want); !bytes.Equal(reliable, unit) || f.Len() != len(unit) || !bytes.Equal(f.Unit(), unit) {
		t.Fatalf("reliable unit\n%x (Len %d), want\n%x", reliable, f.Len(), unit)
	}
	want.RelSeq, want.Ack = relSeq, ack
	if got, unit := f.AppendNumbered([]byte("before"), relSeq, ack)[6:], byProtobuf(t, &want); !bytes.Equal(got, unit) || f.NumberedLen(relSeq, ack) != len(unit) {
		t.Fatalf("numbered unit\n%x, want\n%x", got, unit)
	}
	want.RelSeq, want.Ack, want.Reliable, want.Sequence = 0, 0, false, seq
	if got, unit := f.AppendFast([]byte("before"), seq)[6:], byProtobuf(t, &want); !bytes.Equal(got, unit) {
		t.Fatalf("fast unit\n%x, want\n%x", got, unit)
	}
	if f.OpCode() != h.OpCode || f.TargetPlayer() != h.TargetPlayer || f.TargetGroup() != h.TargetGroup ||
		f.Sender() != h.Sender || !bytes.Equal(f.Payload(), h.Payload) {
		t.Fatalf("the accessors disagree with %+v", h)
	}
}

func TestFrameEncodesAsProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkFrame(t, message().Draw(t, "message"), rapid.OneOf(rapid.Just[int32](0), rapid.Int32()).Draw(t, "seq"),
			rapid.Uint64().Draw(t, "relSeq"), rapid.Uint64().Draw(t, "ack"))
	})
}

// Payload sizes around the limits of the pool's size classes and of the length varint.
func TestFrameSizes(t *testing.T) {
	for _, n := range []int{0, 1, 60, 80, 120, 121, 122, 123, 124, 125, 126, 127, 128, 350, 384, FastPayloadMax, FastPayloadMax + overheadMax, PayloadMax, PayloadMax + 1, 16300, 16384, ScriptPayloadMax, ScriptPayloadMax + overheadMax, ServerUnitMax} {
		h := &Header{OpCode: -1 << 31, TargetPlayer: -1, TargetGroup: -1, Sender: -1, Payload: bytes.Repeat([]byte{7}, n)}
		checkFrame(t, h, -1, 1<<63, 1<<63)
		f := NewFrame(h)
		if n <= ScriptPayloadMax && f.class == classNone {
			t.Errorf("a payload of %d bytes is not pooled", n)
		}
		f.Release()
	}
}

func TestAppendMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := message().Draw(t, "message")
		h.Sequence = rapid.Int32().Draw(t, "seq")
		h.Reliable = rapid.Bool().Draw(t, "reliable")
		h.ClientVersion = rapid.Int32().Draw(t, "version")
		h.RelSeq = rapid.Uint64().Draw(t, "relSeq")
		h.Ack = rapid.Uint64().Draw(t, "ack")
		unit := AppendMessage(nil, h)
		if want := byProtobuf(t, h); !bytes.Equal(unit, want) {
			t.Fatalf("encoded %x, protobuf %x", unit, want)
		}
		packet, err := SplitUnit(unit)
		if err != nil {
			t.Fatal(err)
		}
		got := Header{OpCode: 1, Payload: []byte("left over")}
		if err := got.Parse(packet); err != nil {
			t.Fatal(err)
		}
		if len(h.Payload) == 0 {
			h.Payload, got.Payload = nil, nil
		}
		if !reflect.DeepEqual(&got, h) {
			t.Fatalf("round trip gives %+v, want %+v", got, h)
		}
	})
}

func TestInnerMessagesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		login := Login{text.Draw(t, "id"), rapid.Int32().Draw(t, "version"), rapid.Uint64().Draw(t, "caps"), text.Draw(t, "token"), rapid.Uint64().Draw(t, "last")}
		result := LoginResult{
			Success: rapid.Bool().Draw(t, "success"), ReconnectToken: text.Draw(t, "reconnect"), PeerID: id().Draw(t, "peer"),
			FastPort: rapid.Int32().Draw(t, "port"), CACert: payload().Draw(t, "cert"), ConnectToken: text.Draw(t, "connect"),
			Caps: rapid.Uint64Range(1, 9).Draw(t, "caps"), LastReceived: rapid.Uint64().Draw(t, "received"),
			Outcome: rapid.Uint64Range(0, 2).Draw(t, "outcome"), WindowMs: rapid.Uint64().Draw(t, "window"),
			Endpoints: text.Draw(t, "endpoints"), Over: Over(rapid.Uint64Range(0, 4).Draw(t, "over")),
			Alternates: rapid.SliceOfN(rapid.StringN(1, -1, 99), 0, AlternatesMax).Draw(t, "alternates"),
		}
		verify := VerifyIdentity{id().Draw(t, "peer"), text.Draw(t, "token")}
		verified := VerifyIdentityResult{rapid.Bool().Draw(t, "ok"), id().Draw(t, "peer")}
		members := Membership{id().Draw(t, "group"), rapid.SliceOf(id()).Draw(t, "players")}
		peer, seq, byWebSocket := id().Draw(t, "peer"), rapid.Int32().Draw(t, "seq"), rapid.Bool().Draw(t, "reliable")
		for _, c := range []struct {
			unit []byte
			want any
		}{
			{AppendLogin(nil, &login, nil), login},
			{reliable(NewLoginResult(&result)), result},
			{AppendVerifyIdentity(nil, &verify, seq, nil), verify},
			{reliable(NewVerifyIdentityResult(verified)), verified},
			{reliable(NewMembershipUpdate(peer, 1, members.Group, members.Players)), members},
			{AppendGroupCommand(nil, OpJoinGroup, members.Group, peer, seq, byWebSocket), members.Group},
			{AppendGroupCommand(nil, OpLeaveGroup, members.Group, peer, seq, byWebSocket), members.Group},
			{AppendGroupCommand(nil, OpRequestGroupMembership, members.Group, peer, seq, byWebSocket), members.Group},
			{reliable(NewPingResult(peer)), nil},
			{reliable(NewPlayerConnect(peer, 1)), nil},
			{reliable(NewPlayerDisconnect(peer, 1)), nil},
		} {
			packet, err := SplitUnit(c.unit)
			if err != nil {
				t.Fatal(err)
			}
			var h Header
			if err := h.Parse(packet); err != nil {
				t.Fatal(err)
			}
			got, err := parseInner(&h)
			if err != nil || !reflect.DeepEqual(normal(got), normal(c.want)) {
				t.Fatalf("%v: got %+v, %v; want %+v", h.Command, got, err, c.want)
			}
			p := protoOf("Packet")
			if err := proto.Unmarshal(packet, p); err != nil {
				t.Fatalf("%v: protobuf refuses: %v", h.Command, err)
			}
			if want := handOf(p); !reflect.DeepEqual(normal(got), normal(want)) {
				t.Fatalf("%v: got %+v, protobuf %+v", h.Command, got, want)
			}
			if b, _ := protoBytes(p); !bytes.Equal(b, packet) {
				t.Fatalf("%v: encoded %x, protobuf %x", h.Command, packet, b)
			}
		}
	})
}

// Stock decoders must not see the extension unless the client has asked for it.
func TestLoginResultWithoutCapsHasNoExtension(t *testing.T) {
	plain := resultVector
	extended := plain
	extended.LastReceived, extended.Outcome, extended.WindowMs = 5, OutcomeResumed, 30000
	if got, want := reliable(NewLoginResult(&extended)), reliable(NewLoginResult(&plain)); !bytes.Equal(got, want) {
		t.Errorf("extension fields without caps: %x, want %x", got, want)
	}
}
