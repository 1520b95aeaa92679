package peer

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"troupe/messages"
	"troupe/messages/coord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requests returns the names of the types in a folder that embed a marker of requests.
func requests(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := parser.ParseDir(token.NewFileSet(), dir, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range all {
		ast.Inspect(pkg, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok || spec.TypeParams != nil {
				return false
			}
			for _, f := range s.Fields.List {
				marker, ok := f.Type.(*ast.IndexExpr)
				if !ok || len(f.Names) > 0 {
					continue
				}
				name := ""
				switch x := marker.X.(type) {
				case *ast.Ident:
					name = x.Name
				case *ast.SelectorExpr:
					name = x.Sel.Name
				}
				if strings.HasPrefix(name, "To") || name == "answeredWith" {
					names = append(names, spec.Name.Name)
				}
			}
			return false
		})
	}
	return names
}

func TestEveryRequestHasAName(t *testing.T) {
	all := slices.Sorted(slices.Values(slices.Concat(requests(t, ".."), requests(t, "../coord"))))
	for _, name := range all {
		if kinds[name] == nil {
			t.Errorf("%s is not in the table", name)
		}
	}
	if names := Names(); !slices.Equal(names, all) {
		t.Errorf("%d requests have names, %d are declared", len(names), len(all))
	}
}

var texts = []string{"", "a", "fleet-1", "ünï☃😀", `"quotes" \back\ <&>`, "line\nline\x00\u2028", "arn:aws:gamelift:us-east-1::gamesession/fleet-1/g"}

// fill sets a value at random. In fields with omitempty, it uses nil instead of an empty list.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		if r.IntN(4) > 0 {
			v.Set(reflect.ValueOf(time.Unix(r.Int64N(1<<37), r.Int64N(1e9)).UTC()))
		}
		return
	case jsontext.Value:
		v.SetBytes([]byte(`{"a":[1,"b",null]}`))
		return
	case netip.AddrPort:
		if r.IntN(4) > 0 {
			addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(r.Uint32())})
			if r.IntN(2) > 0 {
				addr = netip.MustParseAddr("fe80::1%eth0")
			}
			v.Set(reflect.ValueOf(netip.AddrPortFrom(addr, uint16(r.Uint32()))))
		}
		return
	}
	number := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, r.Int64()}[r.IntN(6)]
	size := max(r.IntN(4)-depth/3, 0)
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(number&1 == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(number)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(number))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(number) / 3))
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			if r.IntN(3) > 0 { // otherwise it points to a zero value
				fill(r, v.Elem(), depth+1)
			}
			if v.Elem().Kind() == reflect.Slice && v.Elem().IsNil() {
				v.Elem().Set(reflect.MakeSlice(v.Elem().Type(), 0, 0))
			}
		}
	case reflect.Slice:
		if r.IntN(4) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), size, size))
		}
		for i := range v.Len() {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.Map:
		if r.IntN(4) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range size {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key, depth+1)
				fill(r, value, depth+1)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct && f.Type.NumField() == 1 { // a marker
				continue
			}
			fill(r, v.Field(i), depth+1)
			if kind := f.Type.Kind(); strings.Contains(f.Tag.Get("json"), "omitempty") && (kind == reflect.Slice || kind == reflect.Map) && v.Field(i).Len() == 0 {
				v.Field(i).SetZero()
			}
		}
	default:
		panic(v.Type())
	}
}

// Every request and every answer is decoded to an equal value.
func TestRoundTrip(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 100
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			method, _ := k.typ.MethodByName("Answer")
			for range rounds {
				v := reflect.New(k.typ).Elem()
				fill(r, v, 0)
				q := v.Interface().(messages.Request)
				sent, body, err := Encode(q)
				if err != nil || sent != name {
					t.Fatalf("%+v: %v", q, err)
				}
				got, err := Decode(name, body)
				if err != nil || !reflect.DeepEqual(got, q) {
					t.Fatalf("%s\nis %#v\nnot %#v: %v", body, got, q, err)
				}
				v = reflect.New(method.Type.Out(0)).Elem()
				fill(r, v, 0)
				body = EncodeAnswer(q, v.Interface(), nil)
				a, err := DecodeAnswer(q, body)
				if err != nil || !reflect.DeepEqual(a, v.Interface()) {
					t.Fatalf("%s\nis %#v\nnot %#v: %v", body, a, v, err)
				}
			}
		})
	}
}

// The random values of TestRoundTrip do not show this: what an update removes stays removed.
func TestNilAndEmptyDiffer(t *testing.T) {
	var none []string
	q := messages.UpdateQueue{Destinations: &none, AllowedLocations: &[]string{}, Priority: new(messages.QueuePriority), Notify: new(string)}
	name, body, err := Encode(q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(name, body)
	u, ok := got.(messages.UpdateQueue)
	if err != nil || !ok || u.Destinations == nil || u.AllowedLocations == nil || u.Priority == nil || u.Notify == nil || u.Policies != nil || u.CustomEventData != nil {
		t.Errorf("%s is %#v, %v", body, got, err)
	}
	for _, zip := range [][]byte{nil, {}, {0, 255}} {
		name, body, _ := Encode(messages.UpdateScript{Zip: zip})
		got, err := Decode(name, body)
		if u, ok := got.(messages.UpdateScript); err != nil || !ok || (u.Zip == nil) != (zip == nil) || !bytes.Equal(u.Zip, zip) {
			t.Errorf("%v: %s is %#v, %v", zip, body, got, err)
		}
	}
	ticket := &messages.Ticket{EstimatedWait: time.Second, Backfill: new(messages.Backfill)}
	a, err := DecodeAnswer(messages.WhyTicket{}, EncodeAnswer(messages.WhyTicket{}, &messages.TicketWait{Ticket: ticket, Players: 3}, nil))
	if w, ok := a.(*messages.TicketWait); err != nil || !ok || !reflect.DeepEqual(w.Ticket, ticket) || w.Players != 3 {
		t.Errorf("%#v, %v", a, err)
	}
}

func TestErrorsArrive(t *testing.T) {
	q := messages.GameSessionQuery{}
	for _, c := range []struct {
		answer any
		err    error
		want   messages.Error
	}{
		{nil, messages.Errorf(messages.NotFound, "no such thing"), messages.Error{Code: messages.NotFound, Text: "no such thing"}},
		{nil, errors.New("broken"), messages.Error{Code: messages.Internal, Text: "broken"}},
		{nil, errors.New("a\xff"), messages.Error{Code: messages.Internal, Text: "a\ufffd"}},
		{3, nil, messages.Error{Code: messages.Internal, Text: "GameSessionQuery was answered with a int"}},
		{&messages.GameSession{Name: "\xff"}, nil, messages.Error{Code: messages.Internal, Text: "UTF-8"}},
	} {
		_, err := DecodeAnswer(q, EncodeAnswer(q, c.answer, c.err))
		if got, ok := err.(*messages.Error); !ok || got.Code != c.want.Code || !strings.Contains(got.Text, c.want.Text) {
			t.Errorf("%v, %v: %v", c.answer, c.err, err)
		}
	}
	if a, err := DecodeAnswer(q, EncodeAnswer(q, nil, nil)); err != nil || a != (*messages.GameSession)(nil) {
		t.Errorf("no answer is %#v, %v", a, err)
	}
}

// Neighbouring versions work together (10.3): a newer version has fields and requests that an older version does not
// know.
func TestAnotherVersion(t *testing.T) {
	q, err := Decode("DeleteFleet", []byte(`{"ID":"fleet-1","Force":{"a":[1]},"id":"x"}`))
	if err != nil || q != (messages.DeleteFleet{ID: "fleet-1"}) {
		t.Errorf("%#v, %v", q, err)
	}
	a, err := DecodeAnswer(messages.AwaitRoom{}, []byte(`{"Answer":{"Version":2,"More":1},"Cost":1}`))
	if err != nil || a != (messages.Room{Version: 2}) {
		t.Errorf("%#v, %v", a, err)
	}
	for name, body := range map[string]string{"FreezeGame": "{}", "": "{}", "DeleteFleet": `{"ID":1}`, "DeleteQueue": "", "DeleteAlias": `{"ID":"\xff"}`} {
		if q, err := Decode(name, []byte(body)); q != nil || !errors.Is(err, &messages.Error{Code: messages.Internal}) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, q, err)
		}
	}
	for _, body := range []string{"", "[]", `{"Answer":1}`} {
		if a, err := DecodeAnswer(messages.FleetQuery{}, []byte(body)); a != nil || !errors.Is(err, &messages.Error{Code: messages.Internal}) {
			t.Errorf("%s: %v, %v", body, a, err)
		}
	}
}

type notSent struct{ messages.ToThisHost[int] }

type DeleteFleet struct{ messages.ToCatalog[int] }

// Requests that are not in the table are not sent, even if they have the name of another request.
func TestOtherRequestsAreNotSent(t *testing.T) {
	for _, q := range []messages.Request{notSent{}, DeleteFleet{}, &messages.DeleteFleet{}} {
		if _, _, err := Encode(q); !errors.Is(err, &messages.Error{Code: messages.Internal}) {
			t.Errorf("%T: %v", q, err)
		}
		if _, err := DecodeAnswer(q, EncodeAnswer(q, 3, nil)); !errors.Is(err, &messages.Error{Code: messages.Internal}) {
			t.Errorf("%T: %v", q, err)
		}
	}
	if _, _, err := Encode(messages.DeleteQueue{Name: "\xff"}); !errors.Is(err, &messages.Error{Code: messages.Internal}) {
		t.Errorf("a text that is not UTF-8: %v", err)
	}
}

// Every input is either refused or decoded to a request that can be encoded again.
func FuzzDecode(f *testing.F) {
	f.Add("CreateFleet", []byte(`{"Name":"a","Runtime":{"Processes":[{}],"ActivationTimeout":5},"Tags":{"a":"b"}}`))
	f.Add("Reach", []byte(`{"Node":{"name":"b","protocol":{"low":1,"high":2},"Incarnation":3}}`))
	f.Add("StartMatchmaking", []byte(`{"Players":[{"Attributes":{"a":{"Kind":"SDM","SDM":{"b":1e3}}}}]}`))
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		if a, err := DecodeAnswer(coord.Hello{}, body); err == nil {
			_ = EncodeAnswer(coord.Hello{}, a, nil)
		}
		if a, err := DecodeAnswer(messages.TicketQuery{}, body); err == nil {
			_ = EncodeAnswer(messages.TicketQuery{}, a, nil)
		}
		q, err := Decode(name, body)
		if err != nil {
			return
		}
		_, first, err := Encode(q)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(name, first)
		if err != nil {
			t.Fatal(err)
		}
		_, second, err := Encode(again)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := canonical(t, first), canonical(t, second); a != b {
			t.Errorf("%s is sent on as %s", a, b)
		}
	})
}

func canonical(t *testing.T, body []byte) string {
	v := jsontext.Value(body)
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func BenchmarkRoundTrip(b *testing.B) {
	q := messages.CreatePlayerSessions{GameSessionID: messages.GameSessionID(texts[6]), Players: []messages.NewPlayer{{PlayerID: "ann"}}}
	for b.Loop() {
		name, body, _ := Encode(q)
		if _, err := Decode(name, body); err != nil {
			b.Fatal(err)
		}
	}
}
