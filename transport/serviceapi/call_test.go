package serviceapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"
	"github.com/rs/zerolog"
)

// api is a server over HTTP with a fake behind it, as one test sees it.
type api struct {
	server *Server
	fake   *fakeBackend
	url    string
	client *http.Client
}

func newAPI(t *testing.T, change ...func(*Options)) *api {
	t.Helper()
	fake := newFakeBackend()
	o := Options{Backend: fake, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)}
	for _, c := range change {
		c(&o)
	}
	server, err := New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	listener := httptest.NewServer(server)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		listener.Close()
	})
	return &api{server, fake, listener.URL, &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// members is an input or output in either protocol. Numbers are float64 or int.
type members = map[string]any

// reply is a response, decoded.
type reply struct {
	status int
	header http.Header
	raw    []byte
	body   members
}

func (r reply) code() string {
	code, _ := r.body["__type"].(string)
	return code
}

// protocols are the two ways of calling, for tests that want both.
var protocols = []string{"json", "cbor"}

func inBoth(t *testing.T, f func(t *testing.T, protocol string)) {
	t.Helper()
	for _, p := range protocols {
		t.Run(p, func(t *testing.T) { f(t, p) })
	}
}

func (a *api) call(t *testing.T, protocol, operation string, in members, headers ...string) reply {
	t.Helper()
	return a.raw(t, protocol, operation, encode(t, protocol, in), headers...)
}

func encode(t *testing.T, protocol string, in members) []byte {
	t.Helper()
	if protocol == "cbor" {
		return cbor.Encode(treeOf(in))
	}
	return mustJSON(in)
}

func mustJSON(in members) []byte {
	body, err := json.Marshal(in)
	if err != nil {
		panic(err) // a test wrote something that JSON lacks
	}
	return body
}

// newRequest builds a call; a JSON call goes to prefix, a CBOR call below it.
func newRequest(protocol, base, operation string, body []byte) *http.Request {
	url := base
	if protocol == "cbor" {
		url = strings.TrimSuffix(base, "/") + "/service/GameLift/operation/" + operation
	}
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		panic(err)
	}
	if protocol == "cbor" {
		r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
		r.Header.Set("Content-Type", "application/cbor")
		r.Header.Set("Accept", "application/cbor")
	} else {
		r.Header.Set("X-Amz-Target", "GameLift."+operation)
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	return r
}

func (a *api) raw(t *testing.T, protocol, operation string, body []byte, headers ...string) reply {
	t.Helper()
	r := newRequest(protocol, a.url+"/", operation, body)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return a.do(t, protocol, r)
}

func (a *api) do(t *testing.T, protocol string, r *http.Request) reply {
	t.Helper()
	resp, err := a.client.Do(r)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the response: %v", err)
	}
	return decoded(t, protocol, resp.StatusCode, resp.Header, raw)
}

func decoded(t *testing.T, protocol string, status int, header http.Header, raw []byte) reply {
	t.Helper()
	out := reply{status: status, header: header, raw: raw}
	if protocol == "cbor" {
		tree, err := cbor.Decode(raw)
		if err != nil {
			t.Fatalf("response is not CBOR: %v: %x", err, raw)
		}
		out.body, _ = plain(tree).(members)
	} else if err := json.Unmarshal(raw, &out.body); err != nil {
		t.Fatalf("response is not JSON: %v: %s", err, raw)
	}
	if out.body == nil {
		t.Fatalf("response body is no object: %q", raw)
	}
	return out
}

// want fails the test unless the reply is a refusal with this code and a text.
func (r reply) want(t *testing.T, status int, code string) reply {
	t.Helper()
	if r.status != status || r.code() != code {
		t.Fatalf("got %d %s %v, want %d %s", r.status, r.code(), r.body, status, code)
	}
	if text, _ := r.body["message"].(string); text == "" || text != r.body["Message"] {
		t.Fatalf("bad texts in %v", r.body)
	}
	return r
}

func (r reply) ok(t *testing.T) members {
	t.Helper()
	if r.status != http.StatusOK {
		t.Fatalf("got %d %v, want 200", r.status, r.body)
	}
	return r.body
}

const invalidRequest = "InvalidRequestException"

// treeOf builds CBOR from plain values; plain is the way back. A time is
// float64 seconds both ways.
func treeOf(v any) cbor.Value {
	switch v := v.(type) {
	case nil:
		return &cbor.Nil{}
	case cbor.Value:
		return v
	case string:
		return cbor.String(v)
	case bool:
		return cbor.Bool(v)
	case int:
		if v < 0 {
			return cbor.NegInt(-v)
		}
		return cbor.Uint(v)
	case float64:
		return cbor.Float64(v)
	case []string:
		list := make(cbor.List, len(v))
		for i := range v {
			list[i] = cbor.String(v[i])
		}
		return list
	case []members:
		list := make(cbor.List, len(v))
		for i := range v {
			list[i] = treeOf(v[i])
		}
		return list
	case []any:
		list := make(cbor.List, len(v))
		for i := range v {
			list[i] = treeOf(v[i])
		}
		return list
	case map[string]any:
		m := cbor.Map{}
		for k, entry := range v {
			m[k] = treeOf(entry)
		}
		return m
	}
	panic(fmt.Sprintf("no CBOR for %T", v))
}

func plain(v cbor.Value) any {
	switch v := v.(type) {
	case cbor.String:
		return string(v)
	case cbor.Bool:
		return bool(v)
	case cbor.Uint:
		return float64(v)
	case cbor.Float64:
		return float64(v)
	case cbor.Float32:
		return float64(v)
	case *cbor.Tag:
		return plain(v.Value)
	case cbor.List:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case cbor.Map:
		m := members{}
		for k, entry := range v {
			m[k] = plain(entry)
		}
		return m
	}
	return nil // null, which no test expects
}

// items returns a list member of maps.
func items(t *testing.T, m members, name string) []members {
	t.Helper()
	entries, ok := m[name].([]any)
	if !ok {
		t.Fatalf("no list %s in %v", name, m)
	}
	out := make([]members, len(entries))
	for i := range entries {
		out[i], _ = entries[i].(members)
	}
	return out
}

func (a *api) newGameSession(t *testing.T, seats int) string {
	t.Helper()
	out := a.call(t, "json", "CreateGameSession", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": seats}).ok(t)
	return out["GameSession"].(members)["GameSessionId"].(string)
}
