package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"troupe/messages/wire/pb"
)

// RT-5.
func TestATextLoginIsTheSamePacket(t *testing.T) {
	text := `{"targetPlayer":-1,"reliable":true,"login":{"playerSessionId":"psess-1","clientVersion":2}}`
	packet, err := FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := unhex(t, vectors[0].unit)[1:]; !bytes.Equal(packet, want) {
		t.Errorf("packet %x, want %x", packet, want)
	}
}

func TestFromJSON(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		err              error
	}{
		{name: "empty object", text: `{}`},
		{name: "payload is base64", text: `{"opCode":10,"payload":"aGk="}`, want: "08147a026869"},
		{name: "unknown names are ignored", text: `{"opCode":10,"x":{"y":[1,{}]}}`, want: "0814"},
		{name: "null is absent", text: `{"opCode":null,"login":null}`},
		{name: "present inner message", text: `{"ping":{}}`, want: "820200"},
		{name: "not JSON", text: `hello`, err: ErrText},
		{name: "nothing", text: ``, err: ErrText},
		{name: "two values", text: `{}{}`, err: ErrText},
		{name: "array", text: `[]`, err: ErrText},
		{name: "two inner messages", text: `{"ping":{},"login":{}}`, err: ErrText},
		{name: "number too large", text: `{"opCode":4294967296}`, err: ErrText},
		{name: "bad base64", text: `{"payload":"*"}`, err: ErrText},
		{name: "deep", text: `{"x":` + strings.Repeat("[", JSONDepthMax+1) + strings.Repeat("]", JSONDepthMax+1) + `}`, err: ErrText},
		{name: "too long", text: `{"x":"` + strings.Repeat("a", UnitMax) + `"}`, err: ErrUnitTooLong},
		{name: "grows too long", text: `{"groupMembershipUpdate":{"players":[-1` + strings.Repeat(",-1", UnitMax/10) + `]}}`, err: ErrUnitTooLong},
	} {
		t.Run(c.name, func(t *testing.T) {
			packet, err := FromJSON([]byte(c.text))
			if !errors.Is(err, c.err) || !bytes.Equal(packet, unhex(t, c.want)) {
				t.Fatalf("got %x, %v; want %s, %v", packet, err, c.want, c.err)
			}
			if err != nil && (!errors.Is(err, ErrMalformed) || len(err.Error()) > 300) {
				t.Errorf("error of %d bytes, in the family: %v", len(err.Error()), errors.Is(err, ErrMalformed))
			}
		})
	}
}

func FuzzJSONPacket(f *testing.F) {
	for _, v := range vectors {
		var p pb.Packet
		if err := proto.Unmarshal(unhex(f, v.unit)[1:], &p); err != nil {
			f.Fatal(err)
		}
		text, err := protojson.Marshal(&p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"x":[[[{"y":null}]]],"payload":"AAE"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		packet, err := FromJSON(text)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		checkAgainstGenerated(t, packet)
		var h Header
		if err := h.Parse(packet); err != nil {
			t.Fatalf("packet %x of text %q is refused: %v", packet, text, err)
		}
		if again := h.Append(nil); !bytes.Equal(again, packet) {
			t.Fatalf("packet %x of text %q encodes as %x", packet, text, again)
		}
	})
}
