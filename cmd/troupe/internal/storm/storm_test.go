package storm_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/cmd/troupe/internal/storm"
	"troupe/transport/client"
	"troupe/transport/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startHost(t *testing.T, change func(*host.Config)) (api string) {
	t.Helper()
	c := host.Defaults()
	for _, addr := range []*string{&c.API.Addr, &c.WebSocket.Addr, &c.Fast.Addr} {
		*addr = "127.0.0.1:0"
	}
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", ""
	c.Log.GameSessions.Dir = t.TempDir()
	c.Limits.UnauthenticatedPerIP, c.Limits.ConnectionsPerIPPerSecond, c.Limits.ResumesPerPlayerSessionPerMinute = 0, 0, 0
	c.Limits.LoginsPerPlayerSessionPerMinute = 0
	c.Drain.Grace = 0
	if change != nil {
		change(&c)
	}
	h, err := host.Start(host.Options{Config: c, Log: zerolog.New(os.Stderr).Level(zerolog.Disabled)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return "http://" + h.Addrs().API
}

func options(api string) storm.Options {
	return storm.Options{
		API: api, Region: "us-east-1", Fleet: "fleet-dev", Transport: client.WS, Players: 12, Room: 5, Rate: 20, Payload: 64,
		Single: 10, Every: time.Millisecond, Seed: 1, Patience: time.Minute,
	}
}

func TestAllAreBackAndNothingIsLost(t *testing.T) {
	var out bytes.Buffer
	r, err := storm.Run(context.Background(), options(startHost(t, nil)), &out)
	if err != nil {
		t.Fatal(err)
	}
	if r.Resumed != 22 || r.Failed != 0 || r.Storm.Count != 12 || r.Single.Count != 10 || r.Storm.P99 <= 0 {
		t.Errorf("%+v", r)
	}
	if r.Lost+r.Duplicated+r.Gaps != 0 || r.Received != r.Expected || r.Sent < 100 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(out.String(), "all reconnected after") {
		t.Error(out.String())
	}
}

// A host that keeps nothing must show: a check that cannot fail is none.
func TestWhatIsLostIsCounted(t *testing.T) {
	var r storm.Result
	// What is lost is waited for as long as Patience. A busy machine may need longer to have the players back.
	for patience := 8 * time.Second; ; patience *= 4 {
		o := options(startHost(t, func(c *host.Config) {
			c.Reconnect.Acknowledge = false
			c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond = 0, 0
		}))
		o.Players, o.Rate, o.Single, o.Patience = 5, 500, 100, patience
		var err error
		if r, err = storm.Run(context.Background(), o, new(bytes.Buffer)); err == nil {
			break
		}
		if patience > time.Minute || !strings.Contains(err.Error(), "did not come back") {
			t.Fatal(err)
		}
		t.Log("again:", err)
	}
	if r.Lost == 0 && r.Gaps == 0 && r.Failed == 0 {
		t.Errorf("nothing is kept, and nothing was lost: %+v", r)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for name, change := range map[string]func(*storm.Options){
		"one player": func(o *storm.Options) { o.Players = 1 }, "a room for one": func(o *storm.Options) { o.Room = 1 },
		"a room too large": func(o *storm.Options) { o.Room = 201 }, "no room for the stamp": func(o *storm.Options) { o.Payload = 11 },
		"cuts without time": func(o *storm.Options) { o.Every = 0 },
	} {
		o := options("http://127.0.0.1:1")
		change(&o)
		if _, err := storm.Run(context.Background(), o, new(bytes.Buffer)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
