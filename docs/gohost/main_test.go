package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"go.uber.org/goleak"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// asExample is an environment variable. If it is set, this test binary runs the example.
const asExample = "TEST_AS_GOHOST"

func TestMain(m *testing.M) {
	if os.Getenv(asExample) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// A client plays the example until it finds the number.
func TestPlayed(t *testing.T) {
	// long enough for slow machines: it only ends a test that hangs
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	addrs := start(t)
	c := play(ctx, t, addrs)
	for low, high := 1, 100; ; {
		middle := (low + high) / 2
		if err := c.Send(stock.Message{OpCode: 1, TargetPlayer: stock.ServerID, Payload: []byte(strconv.Itoa(middle)), Reliable: true}); err != nil {
			t.Fatal(err)
		}
		e, err := c.Expect(ctx, stock.Op(1))
		if err != nil {
			t.Fatal(err)
		}
		switch string(e.Payload) {
		case "more":
			low = middle + 1
		case "less":
			high = middle - 1
		default:
			if err := c.AwaitClose(ctx); err != nil || string(e.Payload) != "found" {
				t.Fatalf("%q, then: %v", e.Payload, err)
			}
			return
		}
		if low > high {
			t.Fatalf("it is not below %d and not above %d", low, high)
		}
	}
}

// The example must stay short enough to be read completely.
func TestUnder60Lines(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if n := bytes.Count(text, []byte("\n")); err != nil || n >= 60 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// start runs the example on free ports until the test ends.
func start(t *testing.T) (addrs host.Announcement) {
	t.Helper()
	any := "127.0.0.1:0"
	run := exec.Command(os.Args[0], "-api", any, "-ws", any, "-fast", any)
	home := t.TempDir() // folder of the logs of game sessions
	run.Env = append(os.Environ(), asExample+"=1", "HOME="+home, "XDG_STATE_HOME="+home)
	out, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	t.Cleanup(func() {
		if run.Process.Signal(os.Interrupt) != nil { // for systems without an interrupt signal
			_ = run.Process.Kill()
		}
		for lines.Scan() {
			t.Log(lines.Text())
		}
		if err := run.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	for lines.Scan() {
		var line struct{ Addresses *host.Announcement }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Addresses != nil {
			return *line.Addresses
		}
	}
	t.Fatalf("it does not say where it listens: %v", lines.Err())
	return addrs
}

// play logs a stock client in to a new game session.
func play(ctx context.Context, t *testing.T, addrs host.Announcement) *stock.Client {
	t.Helper()
	api := gamelift.New(gamelift.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + addrs.API), Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
	created, err := api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(2)})
	if err != nil {
		t.Fatal(err)
	}
	seat, err := api.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: created.GameSession.GameSessionId, PlayerId: aws.String("ann")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := stock.Dial(ctx, addrs.WS, *seat.PlayerSession.PlayerSessionId, stock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	if _, err := c.AwaitLogin(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}
