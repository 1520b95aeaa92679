package awswire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/replay"
	"troupe/transport/awswire/awswiretest"
)

// API-21.
func TestARepeatedCallGetsTheFirstResponse(t *testing.T) {
	var later atomic.Int64 // atomic, because the server also reads its clock after it has sent a response
	a := newAPI(t, func(o *Options) { o.Now = func() time.Time { return epochStart.Add(time.Duration(later.Load())) } })
	inBoth(t, func(t *testing.T, protocol string) {
		bodies := map[int][]byte{}
		create := func(invocation string, seats int) string {
			t.Helper()
			if bodies[seats] == nil { // the body is reused: a second encoding may order the map differently
				bodies[seats] = encode(t, protocol, members{"FleetId": fleetOne, "MaximumPlayerSessionCount": seats})
			}
			out := a.raw(t, protocol, "CreateGameSession", bodies[seats], "Amz-Sdk-Invocation-Id", invocation).OK(t)
			return out["GameSession"].(members)["GameSessionId"].(string)
		}
		first := create("call-1", 1)
		if got := create("call-1", 1); got != first {
			t.Errorf("repeated: got %s, want %s", got, first)
		}
		for name, got := range map[string]string{"other body": create("call-1", 2), "other call": create("call-2", 1), "no id": create("", 1)} {
			if got == first {
				t.Errorf("%s: got the first response", name)
			}
		}
		body := encode(t, protocol, members{"GameSessionId": first, "PlayerId": "p"})
		one := a.raw(t, protocol, "CreatePlayerSession", body, "Amz-Sdk-Invocation-Id", "p")
		two := a.raw(t, protocol, "CreatePlayerSession", body, "Amz-Sdk-Invocation-Id", "p")
		if one.OK(t); !bytes.Equal(one.Raw, two.Raw) {
			t.Errorf("got %s then %s", one.Raw, two.Raw)
		}
		if one.Header.Get("x-amzn-RequestId") == two.Header.Get("x-amzn-RequestId") {
			t.Error("replay repeats the request id")
		}
		later.Add(int64(replay.Keep))
		if create("call-1", 1) == first {
			t.Error("replayed after 5 minutes")
		}
	})
}

func TestAPIReplayForgetsFailures(t *testing.T) {
	a := newAPI(t)
	in := members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1}
	a.fake.hook = func(context.Context) error { return errRefused }
	a.call(t, "json", "CreateGameSession", in, "Amz-Sdk-Invocation-Id", "x").Want(t, 400, "FleetCapacityExceededException")
	a.fake.hook = nil
	a.call(t, "json", "CreateGameSession", in, "Amz-Sdk-Invocation-Id", "x").OK(t)
}

// A caller that times out and retries gets the game session of its first attempt.
func TestAPIReplayAfterHangUp(t *testing.T) {
	a := newAPI(t)
	entered, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a.fake.hook = func(ctx context.Context) error {
		once.Do(func() { close(entered) })
		select {
		case <-proceed:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	body := encode(t, "json", members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1})
	ctx, hangUp := context.WithCancel(context.Background())
	r := newRequest("json", awswiretest.Base+"/", "CreateGameSession", body).WithContext(ctx)
	r.Header.Set("Amz-Sdk-Invocation-Id", "x")
	gone := make(chan error)
	go func() {
		resp, err := awswiretest.Client(a).Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		gone <- err
	}()
	<-entered
	hangUp()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("first attempt: %v", err)
	}
	again := make(chan reply)
	go func() {
		again <- a.raw(t, "json", "CreateGameSession", body, "Amz-Sdk-Invocation-Id", "x")
	}()
	close(proceed)
	if r := <-again; r.Status != http.StatusOK {
		t.Errorf("second attempt: %d %v", r.Status, r.Body)
	}
	if n := a.fake.created.Load(); n != 1 {
		t.Errorf("%d game sessions created", n)
	}
}

func TestReplayWaitsForTheRunningAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newReplays(time.Now)
		key := replayKey{operation: "x"}
		runs := 0
		attempt := func() ([]byte, error) {
			runs++
			time.Sleep(time.Second)
			return []byte("done"), nil
		}
		for range 5 {
			go func() {
				if body, err := c.do(t.Context(), key, attempt); err != nil || string(body) != "done" {
					t.Errorf("got %q, %v", body, err)
				}
			}()
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait()
		if _, err := c.do(short, key, attempt); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

// Operations that change something are replayed, whichever service registers them. Reading operations are
// not. API-21.
func TestSuccessesOfChangesAreReplayed(t *testing.T) {
	for name, want := range map[string]bool{
		"CreateGameSession": true, "CreatePlayerSession": true, "CreatePlayerSessions": true, "StartGameSessionPlacement": true, "StopGameSessionPlacement": true,
		"CreateGameSessionQueue": true, "CreateFleet": true, "DeleteFleet": true, "CreateAlias": true, "CreateScript": true, "UpdateScript": true,
		"StartMatchmaking": true, "StartMatchBackfill": true, "TerminateGameSession": true, "TagResource": true, "RegisterCompute": true,
		"DescribeGameSessions": false, "SearchGameSessions": false, "ListFleets": false, "ResolveAlias": false, "GetGameSessionLogUrl": false,
		"ValidateMatchmakingRuleSet": false,
	} {
		if isRead(name) == want {
			t.Errorf("%s: replayed %v", name, !want)
		}
	}
}

// A replayed response belongs to the access key. A call with another key, but with the same invocation id and
// body, runs the operation itself and does not get the first key's response. API-21.
func TestReplayIsPerKey(t *testing.T) {
	s := newAPI(t, withKeys(func(o *SigV4Options) {
		o.Keys = []Key{{ID: testKey, Secret: testSecret}, {ID: "AKIDOTHER", Secret: testSecret}}
	}))
	create := func(key string) any {
		body := []byte(`{"FleetId":"fleet-one","MaximumPlayerSessionCount":1}`)
		r := newRequest("json", "http://host.example/", "CreateGameSession", body)
		r.Header.Set("Amz-Sdk-Invocation-Id", "the-same")
		awswiretest.SignedBy(key).Sign(r, body)
		return served(t, s, "json", r).OK(t)["GameSession"].(members)["GameSessionId"]
	}
	if first := create(testKey); create(testKey) != first || create("AKIDOTHER") == first {
		t.Error("a replay is not its key's own")
	}
}
