package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// normal replaces empty lists by nil, so that results can be compared.
func normal(inner any) any {
	switch v := inner.(type) {
	case LoginResult:
		if len(v.CACert) == 0 {
			v.CACert = nil
		}
		if len(v.Alternates) == 0 {
			v.Alternates = nil
		}
		return v
	case Membership:
		if len(v.Players) == 0 {
			v.Players = nil
		}
		return v
	}
	return inner
}

// checkAgainstProtobuf fails unless both decoders return the same result for packet.
func checkAgainstProtobuf(t *testing.T, packet []byte) {
	t.Helper()
	var h Header
	p := protoOf("Packet")
	handErr, protoErr := h.Parse(packet), proto.Unmarshal(packet, p)
	if errors.Is(handErr, ErrGroupDepth) {
		return // the only deliberate difference
	}
	if (handErr == nil) != (protoErr == nil) {
		t.Fatalf("%x: hand-written says %v, protobuf says %v", packet, handErr, protoErr)
	}
	if handErr != nil {
		if !errors.Is(handErr, ErrMalformed) {
			t.Fatalf("untyped error %v", handErr)
		}
		if !reflect.DeepEqual(h, Header{}) {
			t.Fatalf("%x: refused, but the header is %+v", packet, h)
		}
		return
	}
	same := headerOf(p)
	if !bytes.Equal(h.Payload, same.Payload) {
		t.Fatalf("%x: payload %x, protobuf %x", packet, h.Payload, same.Payload)
	}
	same.Command, same.Inner, same.Payload = h.Command, h.Inner, h.Payload
	if !reflect.DeepEqual(h, same) {
		t.Fatalf("%x: hand-written %+v, protobuf %v", packet, h, p)
	}
	want, command := oneof(p)
	if h.Command != command {
		t.Fatalf("%x: command %v, protobuf %v", packet, h.Command, command)
	}
	if want == nil {
		return
	}
	got := want.New()
	if err := proto.Unmarshal(h.Inner, got.Interface()); err != nil {
		t.Fatalf("%x: inner bytes %x do not decode: %v", packet, h.Inner, err)
	}
	if !proto.Equal(got.Interface(), want.Interface()) {
		t.Fatalf("%x: inner message %v, protobuf %v", packet, got, want)
	}
	inner, err := parseInner(&h)
	if err != nil {
		t.Fatalf("%x: inner message refused late: %v", packet, err)
	}
	if want := handOf(p); !reflect.DeepEqual(normal(inner), normal(want)) {
		t.Fatalf("%x: inner message %+v, protobuf %+v", packet, inner, want)
	}
}

// oddPackets are packets that no client sends. Each contains a trap for decoders.
var oddPackets = map[string]string{
	"empty":                            "",
	"field number 0":                   "0001",
	"largest field number":             "f8ffffff0f01",
	"field number too large":           "808080801001",
	"end of group alone":               "0c",
	"wire type 6":                      "0e",
	"wire type 7 in known field":       "7f",
	"fixed64 skipped":                  "c1020102030405060708" + "0814",
	"fixed32 skipped":                  "c50201020304" + "0814",
	"fixed32 cut":                      "c502010203",
	"op code as bytes is unknown":      "0a0114" + "0802",
	"payload as varint is unknown":     "7805",
	"login as varint is unknown":       "f00105",
	"group skipped":                    "c302" + "0805" + "c402" + "0814",
	"group in group":                   "c302" + "cb02" + "cc02" + "c402",
	"group ended by another":           "c302" + "cc02",
	"group without end":                "c302" + "0805",
	"huge number inside a group":       "c302" + "f8ffffff3f01" + "c402",
	"too huge number inside a group":   "c302" + "808080804001" + "c402",
	"login as group":                   "f301" + "f401",
	"varint of ten bytes":              "18ffffffffffffffffff01",
	"varint of 65 bits":                "18ffffffffffffffffff02",
	"varint of eleven bytes":           "18ffffffffffffffffffff01",
	"varint cut":                       "18ff",
	"bool of two":                      "3002",
	"bool above 32 bits":               "308080808010",
	"bool written twice":               "30013000",
	"op code above 32 bits":            "08ffffffffff01",
	"payload written twice":            "7a0161" + "7a0162",
	"payload emptied":                  "7a0161" + "7a00",
	"payload longer than packet":       "7a05aa",
	"payload length above 64 bits":     "7affffffffffffffffffff01",
	"login twice is merged":            "f20103" + "0a0161" + "f20102" + "1002",
	"login thrice is merged":           "f20103" + "0a0161" + "f20102" + "1002" + "f20103" + "0a0162",
	"login, ping, login":               "f20103" + "0a0161" + "820200" + "f20102" + "1002",
	"login around a scalar is merged":  "f20103" + "0a0161" + "0802" + "f20102" + "1002",
	"superseded member malformed":      "f20101" + "0a" + "820200",
	"players merged":                   "da02050801120101" + "da0204" + "12020203",
	"players half packed":              "da0206" + "1001" + "12020203",
	"players packed, cut":              "da0203" + "120180",
	"token not UTF-8":                  "f20103" + "0a01ff",
	"token not UTF-8 in login result":  "fa0103" + "1201ff",
	"certificate need not be UTF-8":    "fa0103" + "2a01ff",
	"token not UTF-8 in verification":  "aa0203" + "1201ff",
	"unknown inner string not UTF-8":   "f20103" + "1a01ff",
	"unknown member 39":                "ba0200",
	"extension fields":                 "c83e05" + "d03e07",
	"extension fields in login":        "f2010b" + "c83e01" + "d23e0174" + "d83e09",
	"extension token not UTF-8":        "f20104" + "d23e01ff",
	"negative group":                   "c2020b" + "08ffffffffffffffffff01",
	"ping with content":                "820202" + "0801",
	"inner message with group unknown": "820204" + "c302c402",
}

func TestOddPacketsDecodeAsProtobuf(t *testing.T) {
	for name, packet := range oddPackets {
		t.Run(name, func(t *testing.T) { checkAgainstProtobuf(t, unhex(t, packet)) })
	}
}

func TestParseErrorsAreTyped(t *testing.T) {
	for packet, want := range map[string]error{
		"0001": ErrFieldNumber, "808080801001": ErrFieldNumber,
		"0c": ErrGroup, "c302cc02": ErrGroup, "0e": ErrWireType, "0f": ErrWireType,
		"18ff": ErrTruncated, "7a05aa": ErrTruncated, "c3020805": ErrTruncated, "c502": ErrTruncated,
		"18ffffffffffffffffff02": ErrVarint, "f201030a01ff": ErrUTF8,
		strings.Repeat("0b", GroupDepthMax+1): ErrGroupDepth,
	} {
		var h Header
		if err := h.Parse(unhex(t, packet)); err != want {
			t.Errorf("%s: got %v, want %v", packet, err, want)
		}
	}
}

// RL-203.
func TestGroupsNestToTheLimit(t *testing.T) {
	nested := func(depth int) []byte {
		return append(bytes.Repeat([]byte{0x0b}, depth), bytes.Repeat([]byte{0x0c}, depth)...)
	}
	var h Header
	if err := h.Parse(nested(GroupDepthMax)); err != nil {
		t.Errorf("%d groups: %v", GroupDepthMax, err)
	}
	if err := h.Parse(nested(GroupDepthMax + 1)); err != ErrGroupDepth {
		t.Errorf("%d groups: %v", GroupDepthMax+1, err)
	}
}

// A header's slices cannot be extended into the input that follows them. RL-203.
func TestParseCapsItsViews(t *testing.T) {
	packet := unhex(t, "7a0161"+"f20102"+"1002"+"0814")
	var h Header
	if err := h.Parse(packet); err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(packet)
	_, _ = append(h.Payload, 0xff), append(h.Inner, 0xff)
	if !bytes.Equal(packet, before) {
		t.Error("appending to a view changed the input")
	}
}

// Merging must not write to the input, and many parts must not each cost a copy.
func TestParseMergesManyParts(t *testing.T) {
	const parts = 10000
	packet := bytes.Repeat([]byte{0xf2, 0x01, 0x02, 0x10, 0x02}, parts)
	before := bytes.Clone(packet)
	var h Header
	allocs := testing.AllocsPerRun(3, func() {
		if err := h.Parse(packet); err != nil {
			t.Fatal(err)
		}
	})
	if len(h.Inner) != 2*parts || !bytes.Equal(packet, before) {
		t.Errorf("joined %d bytes, want %d; input changed: %v", len(h.Inner), 2*parts, !bytes.Equal(packet, before))
	}
	if allocs > 50 {
		t.Errorf("%v allocations for %d parts", allocs, parts)
	}
}

// RL-203.
func FuzzPacketDecode(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.unit)[1:])
	}
	for _, packet := range oddPackets {
		f.Add(unhex(f, packet))
	}
	f.Fuzz(checkAgainstProtobuf)
}

func FuzzLoginCommand(f *testing.F) {
	f.Add(loginVector.append(nil))
	f.Add((&Login{PlayerSessionID: "p", ClientVersion: -1, Caps: 1 << 63, ReconnectToken: "t", LastReceived: 300}).append(nil))
	f.Add(unhex(f, "0a01ff"))
	f.Fuzz(func(t *testing.T, inner []byte) {
		p := protoOf("LoginCommand")
		login, err := ParseLogin(inner)
		if errors.Is(err, ErrGroupDepth) {
			return
		}
		if protoErr := proto.Unmarshal(inner, p); (err == nil) != (protoErr == nil) {
			t.Fatalf("%x: hand-written says %v, protobuf says %v", inner, err, protoErr)
		}
		if (err == nil) != (checkInner(CommandLogin, inner) == nil) {
			t.Fatalf("%x: the parser says %v, the check disagrees", inner, err)
		}
		if err != nil {
			return
		}
		if want := loginOf(p); login != want {
			t.Fatalf("%x: hand-written %+v, protobuf %+v", inner, login, want)
		}
		if again, err := ParseLogin(login.append(nil)); err != nil || again != login {
			t.Fatalf("%x: round trip gives %+v, %v", inner, again, err)
		}
	})
}
