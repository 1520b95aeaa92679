package coord

import (
	"fmt"
	"strings"
	"testing"

	"troupe/messages"
)

func TestKeys(t *testing.T) {
	k := KeysOf("prod")
	tag := TagOf("arn:aws:gamelift:eu-central-1::gamesession/fleet-1/gsess-1")
	got := fmt.Sprint(k.Meta(), k.Secret("ids"), k.Node("a"), k.Load("a"), k.Lead(), k.Game("t"), k.HostGame("a", "t"), k.Gone("t"))
	want := strings.ReplaceAll(fmt.Sprint("@meta", "@secret/ids", "@node/a", "@load/a", "@lead", "@game/t", "@host/a/t", "@gone/t"), "@", "/troupe/prod/")
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	// printf %s "$arn" | sha256sum | cut -c1-20 | xxd -r -p | base32
	if tag != "gqc3mod526wj3ik4" || !tag.Valid() {
		t.Errorf("%q", tag)
	}
	for _, bad := range []Tag{"", tag[1:], tag + "a", "abcdefghijklmno1", "ABCDEFGHIJKLMNOP"} {
		if bad.Valid() {
			t.Errorf("%q is no tag", bad)
		}
	}
}

func TestTagOfAPlayerSession(t *testing.T) {
	const id, arn = "psess-01234567-89ab-cdef-0123-456789abcdef", "arn:aws:gamelift:eu-central-1::gamesession/fleet-1/gsess-1"
	with := WithTag(id, arn)
	if tag, ok := TagIn(with); with != id+"-gqc3mod526wj3ik4" || !ok || tag != TagOf(arn) {
		t.Errorf("%s has the tag %q, %v", with, tag, ok)
	}
	for _, bad := range []messages.PlayerSessionID{"", id, with[1:], with[:len(with)-1], with + "a", with[:42] + "+" + with[43:], with[:58] + "1"} {
		if tag, ok := TagIn(bad); ok {
			t.Errorf("%q has the tag %q", bad, tag)
		}
	}
}

func FuzzTagIn(f *testing.F) {
	f.Add("psess-01234567-89ab-cdef-0123-456789abcdef-gqc3mod526wj3ik4")
	f.Fuzz(func(t *testing.T, id string) {
		if tag, ok := TagIn(messages.PlayerSessionID(id)); ok != tag.Valid() && ok || ok && !strings.HasSuffix(id, "-"+string(tag)) {
			t.Errorf("%q has the tag %q, %v", id, tag, ok)
		}
	})
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "prod-2": true, "A9": true, strings.Repeat("n", 63): true,
		"": false, strings.Repeat("n", 64): false, "a/b": false, "a b": false, "ä": false, "a.b": false, "a\x00": false,
	} {
		if err := CheckName("node", name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNewerNodesMayWriteMore(t *testing.T) {
	n, err := DecodeNode(KV{Value: []byte(`{"name":"a","peers":"h:1","new":{"x":[1]},"protocol":{"low":1,"high":2,"mid":3}}`), Created: 7})
	if err != nil || n.Name != "a" || n.Incarnation != 7 || n.Protocol != (Range{1, 2}) {
		t.Errorf("%+v, %v", n, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"arn":"a","created":"2026-01-01T00:00:00Z"}`, `[]`, `{"places":[{"room":-1}]}`, ``, `{"properties":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		kv := KV{Key: "k", Value: value}
		again(t, kv, func(kv KV) (Node, error) { return DecodeNode(kv) })
		again(t, kv, Decode[Load])
		again(t, kv, Decode[Lead])
		again(t, kv, Decode[Meta])
		again(t, kv, Decode[Gone])
		again(t, kv, Decode[HostGame])
	})
}

// again writes what was read, and reads it again.
func again[R any](t *testing.T, kv KV, decode func(KV) (R, error)) {
	first, err := decode(kv)
	if err != nil {
		return
	}
	second, err := decode(KV{Key: kv.Key, Value: Encode(first)})
	if err != nil || fmt.Sprintf("%+v", first) != fmt.Sprintf("%+v", second) {
		t.Errorf("%+v, then %+v, %v", first, second, err)
	}
}
