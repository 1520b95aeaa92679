package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go/encoding/cbor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is an API of fixed pages; it notes what it was asked.
func answers(t *testing.T, pages map[string][]cbor.Map) (*Client, *[]string) {
	t.Helper()
	asked := &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		*asked = append(*asked, name)
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		if len(pages[name]) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(cbor.Encode(cbor.Map{"__type": cbor.String("NotFoundException"), "message": cbor.String("gone")}))
			return
		}
		_, _ = w.Write(cbor.Encode(pages[name][0]))
		pages[name] = pages[name][1:]
	}))
	c := New(Options{Endpoint: server.URL, Region: "us-east-1"})
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c, asked
}

func games(token string, ids ...string) cbor.Map {
	list := cbor.List{}
	for _, id := range ids {
		list = append(list, cbor.Map{"GameSessionId": cbor.String(id)})
	}
	out := cbor.Map{"GameSessions": list}
	if token != "" {
		out["NextToken"] = cbor.String(token)
	}
	return out
}

// All pages of all fleets are read; a fleet that went meanwhile is left out.
func TestGameSessionsOfAllFleets(t *testing.T) {
	c, asked := answers(t, map[string][]cbor.Map{
		"ListFleets":           {{"FleetIds": cbor.List{cbor.String("fleet-1"), cbor.String("fleet-2")}}},
		"DescribeGameSessions": {games("more", "a"), games("", "b", "c")},
	})
	got, err := c.GameSessions(t.Context(), Sessions{})
	if err != nil || len(got) != 3 || *got[2].GameSessionId != "c" || len(*asked) != 4 {
		t.Errorf("got %v, %v after %v", got, err, *asked)
	}
	if _, err := c.GameSessions(t.Context(), Sessions{Fleet: "fleet-2"}); err == nil {
		t.Error("a fleet that was asked for and is gone is no error")
	}
}

func TestTables(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, print := range map[string]func(*bytes.Buffer) error{
		"psess-1 ann ACTIVE arn:x 2026-03-01 12:00:00": func(b *bytes.Buffer) error {
			return PrintPlayerSessions(b, []PlayerSession{{PlayerSessionId: aws.String("psess-1"), PlayerId: aws.String("ann"), Status: "ACTIVE", GameSessionId: aws.String("arn:x"), CreationTime: &at}})
		},
		`arn:x \x1b[2J\n☃ ACTIVE 1/4 127.0.0.1:1900 - 2026-03-01 12:00:00`: func(b *bytes.Buffer) error {
			return PrintGameSessions(b, []GameSession{{GameSessionId: aws.String("arn:x"), Name: aws.String("\x1b[2J\n☃"), Status: "ACTIVE", CurrentPlayerSessionCount: aws.Int32(1),
				MaximumPlayerSessionCount: aws.Int32(4), IpAddress: aws.String("127.0.0.1"), Port: aws.Int32(1900), CreationTime: &at}})
		},
		"q 600s fleet-1 alias-2 1": func(b *bytes.Buffer) error {
			return PrintQueues(b, []Queue{{Name: aws.String("q"), TimeoutInSeconds: aws.Int32(600), PlayerLatencyPolicies: make([]types.PlayerLatencyPolicy, 1),
				Destinations: []types.GameSessionQueueDestination{{DestinationArn: aws.String("arn:aws:gamelift:r::fleet/fleet-1")}, {DestinationArn: aws.String("arn:aws:gamelift:r::alias/alias-2")}}}})
		},
	} {
		var b bytes.Buffer
		if err := print(&b); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if got := strings.Join(strings.Fields(lines[len(lines)-1]), " "); got != want || len(lines) != 2 {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestJSONHasNoNulls(t *testing.T) {
	var b bytes.Buffer
	if err := PrintJSON(&b, []Queue{{Name: aws.String("q"), TimeoutInSeconds: aws.Int32(0)}}); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || fmt.Sprint(got) != "[map[Name:q TimeoutInSeconds:0]]" {
		t.Errorf("got %s, %v", b.Bytes(), err)
	}
	b.Reset()
	if err := PrintJSON(&b, []Queue{}); err != nil || b.String() != "[]\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
