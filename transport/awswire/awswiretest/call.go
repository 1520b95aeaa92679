package awswiretest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/smithy-go/encoding/cbor"
)

// Members is the input or output of an operation, in either protocol. Numbers are float64 or int.
type Members = map[string]any

// Reply is a decoded response.
type Reply struct {
	Status int
	Header http.Header
	Raw    []byte
	Body   Members
}

// Code returns the error code, or "" for a success.
func (r Reply) Code() string {
	code, _ := r.Body["__type"].(string)
	return code
}

// Protocols are the names of both protocols.
var Protocols = []string{"json", "cbor"}

// InBoth runs a test in each protocol.
func InBoth(t *testing.T, f func(t *testing.T, protocol string)) {
	t.Helper()
	for _, p := range Protocols {
		t.Run(p, func(t *testing.T) { f(t, p) })
	}
}

// Encode encodes an input in a protocol.
func Encode(t *testing.T, protocol string, in Members) []byte {
	t.Helper()
	if protocol == "cbor" {
		return cbor.Encode(TreeOf(in))
	}
	return MustJSON(in)
}

// MustJSON encodes an input as JSON.
func MustJSON(in Members) []byte {
	body, err := json.Marshal(in)
	if err != nil {
		panic(err) // the test's input contains a value that JSON cannot represent
	}
	return body
}

// NewRequest builds a request. A JSON request goes to base; the path of a CBOR request is below base.
func NewRequest(protocol, base, operation string, body []byte) *http.Request {
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

// Call calls an operation. headers are alternating names and values.
func Call(t *testing.T, client *http.Client, base, protocol, operation string, body []byte, headers ...string) Reply {
	t.Helper()
	r := NewRequest(protocol, base+"/", operation, body)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return Do(t, client, protocol, r)
}

// Do sends a request and decodes the response.
func Do(t *testing.T, client *http.Client, protocol string, r *http.Request) Reply {
	t.Helper()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the response: %v", err)
	}
	return Decoded(t, protocol, resp.StatusCode, resp.Header, raw)
}

// Decoded decodes a response.
func Decoded(t *testing.T, protocol string, status int, header http.Header, raw []byte) Reply {
	t.Helper()
	out := Reply{Status: status, Header: header, Raw: raw}
	if protocol == "cbor" {
		tree, err := cbor.Decode(raw)
		if err != nil {
			t.Fatalf("response is not CBOR: %v: %x", err, raw)
		}
		out.Body, _ = Plain(tree).(Members)
	} else if err := json.Unmarshal(raw, &out.Body); err != nil {
		t.Fatalf("response is not JSON: %v: %s", err, raw)
	}
	if out.Body == nil {
		t.Fatalf("response body is no object: %q", raw)
	}
	return out
}

// Want fails the test unless the reply is an error with this status and code, and with a text.
func (r Reply) Want(t *testing.T, status int, code string) Reply {
	t.Helper()
	if r.Status != status || r.Code() != code {
		t.Fatalf("got %d %s %v, want %d %s", r.Status, r.Code(), r.Body, status, code)
	}
	if text, _ := r.Body["message"].(string); text == "" || text != r.Body["Message"] {
		t.Fatalf("bad texts in %v", r.Body)
	}
	return r
}

// OK fails the test unless the reply is a success.
func (r Reply) OK(t *testing.T) Members {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Fatalf("got %d %v, want 200", r.Status, r.Body)
	}
	return r.Body
}

// TreeOf converts plain values to CBOR; Plain is the inverse. In both, a time is a float64 in seconds.
func TreeOf(v any) cbor.Value {
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
		return listOf(v)
	case []Members:
		return listOf(v)
	case []any:
		return listOf(v)
	case map[string]any:
		m := cbor.Map{}
		for k, entry := range v {
			m[k] = TreeOf(entry)
		}
		return m
	}
	panic(fmt.Sprintf("no CBOR for %T", v))
}

func listOf[T any](all []T) cbor.List {
	list := make(cbor.List, len(all))
	for i := range all {
		list[i] = TreeOf(all[i])
	}
	return list
}

// Plain converts CBOR to plain values.
func Plain(v cbor.Value) any {
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
		return Plain(v.Value)
	case cbor.List:
		list := make([]any, len(v))
		for i := range v {
			list[i] = Plain(v[i])
		}
		return list
	case cbor.Map:
		m := Members{}
		for k, entry := range v {
			m[k] = Plain(entry)
		}
		return m
	}
	return nil // CBOR null, which no test expects
}

// Items returns a member that is a list of maps.
func Items(t *testing.T, m Members, name string) []Members {
	t.Helper()
	entries, ok := m[name].([]any)
	if !ok {
		t.Fatalf("no list %s in %v", name, m)
	}
	out := make([]Members, len(entries))
	for i := range entries {
		out[i], _ = entries[i].(Members)
	}
	return out
}
