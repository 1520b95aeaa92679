package acceptance_test

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
)

// parting logs a line, and sends a last message when its process is terminated.
type parting struct {
	script.Base
	session script.Session
	asked   func()
}

func (p *parting) Init(s script.Session) error {
	p.session = s
	s.Logger().Info("hello")
	return nil
}

func newParting() script.Handler { return &parting{asked: func() {}} }

func (p *parting) OnProcessTerminate() script.Decision {
	p.asked()
	p.session.Logger().Warn("goodbye\nand a line of its own")
	p.session.Send(script.Outgoing{OpCode: 7, Payload: []byte("goodbye")}, script.ToGroup(-1).Reliably())
	return script.Allow
}

func (h *testHost) terminate(game string, mode types.TerminationMode) (*types.GameSession, error) {
	h.Helper()
	out, err := h.api.TerminateGameSession(h.context(), &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(game), TerminationMode: mode})
	if err != nil {
		return nil, err
	}
	return out.GameSession, nil
}

func (h *testHost) logURL(game string) (string, error) {
	h.Helper()
	out, err := h.api.GetGameSessionLogUrl(h.context(), &gamelift.GetGameSessionLogUrlInput{GameSessionId: aws.String(game)})
	if err != nil {
		return "", err
	}
	return *out.PreSignedUrl, nil
}

func (h *testHost) awaitEnd(game string, reason types.GameSessionStatusReason) {
	h.Helper()
	h.until("game session is TERMINATED", func() error {
		if g := h.game(game); g.Status != types.GameSessionStatusTerminated || g.StatusReason != reason {
			return fmt.Errorf("it is %s, %s", g.Status, g.StatusReason)
		}
		return nil
	})
}

// API-32.
func TestGameSessionIsTerminatedAndItsLogIsOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{}, 2)
		h := startHost(t, nil, func() script.Handler { return &parting{asked: func() { asked <- struct{}{} }} })
		for mode, reason := range map[types.TerminationMode]types.GameSessionStatusReason{
			types.TerminationModeTriggerOnProcessTerminate: types.GameSessionStatusReasonTriggeredOnProcessTerminate,
			types.TerminationModeForceTerminate:            types.GameSessionStatusReasonForceTerminated,
		} {
			game := h.newGame(2)
			graceful := mode == types.TerminationModeTriggerOnProcessTerminate
			_, err := h.logURL(game)
			if refused := new(types.InvalidRequestException); !errors.As(err, &refused) {
				t.Errorf("the log of a game session that runs: %v", err)
			}
			g, err := h.terminate(game, mode)
			if err != nil || g.Status != types.GameSessionStatusTerminating {
				t.Fatalf("%s: %+v, %v", mode, g, err)
			}
			h.awaitEnd(game, reason)
			if n := len(asked); (n == 1) != graceful {
				t.Errorf("%s: asked %d times", mode, n)
			} else if graceful {
				<-asked
			}
			_, err = h.terminate(game, mode)
			if refused := new(types.InvalidGameSessionStatusException); !errors.As(err, &refused) {
				t.Errorf("terminated once more: %v", err)
			}

			url, err := h.logURL(game)
			if err != nil || len(url) > 1024 || !strings.HasPrefix(url, "http://"+h.host.Addrs().API+"/") {
				t.Fatalf("%q, %v", url, err)
			}
			text := h.fetch(url+"&format=text", http.StatusOK)
			for line, want := range map[string]bool{
				"[INFO] (": true, ": created on fleet-dev\n": true, "[WARN] (ends_test.go)": graceful,
				": goodbye\n    and a line of its own\n": graceful, ": ended: terminated by ": true,
			} {
				if strings.Contains(text, line) != want {
					t.Errorf("%s: %q in the log is not %v:\n%s", mode, line, want, text)
				}
			}
			h.fetch(strings.Replace(url, "signature=", "signature=A", 1), http.StatusForbidden)
		}
	})
}

// The aws command line saves the file behind the log URL as a .zip file.
func TestCommandLineSavesALogAsZip(t *testing.T) {
	if testing.Short() {
		t.Skip("starts aws: TestGameSessionIsTerminatedAndItsLogIsOffered fetches the same log, and serviceapi has a command of aws")
	}
	aws, err := exec.LookPath("aws")
	if err != nil {
		t.Skip("aws is not installed: get-game-session-log was not tried")
	}
	h := startHostWith(t, nil, func(o *host.Options) {
		onSystem(o)
		o.NewHandler = func(*messages.Fleet) script.Handler { return newParting() }
	})
	game := h.newGame(2)
	if _, err := h.terminate(game, types.TerminationModeForceTerminate); err != nil {
		t.Fatal(err)
	}
	h.awaitEnd(game, types.GameSessionStatusReasonForceTerminated)
	saved := filepath.Join(t.TempDir(), "log.zip")
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, aws, "gamelift", "get-game-session-log", "--game-session-id", game, "--save-as", saved,
		"--endpoint-url", "http://"+h.host.Addrs().API, "--region", "us-east-1")
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_CONFIG_FILE="+saved+"x", "AWS_MAX_ATTEMPTS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	z, err := zip.OpenReader(saved)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(path.Base(game) + ".log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || !strings.Contains(string(text), ": ended: terminated by ") {
		t.Errorf("%v: %s", err, text)
	}
}

func (h *testHost) fetch(url string, status int) string {
	h.Helper()
	resp, err := h.Web.Get(url)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		h.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(text)
}

// A host that listens on all addresses uses the public address in the URL of a log.
func TestALogIsOfferedWhereOthersReachIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, public := range []host.Public{{IP: "127.0.0.1"}, {IP: "127.0.0.1", Host: "localhost"}} {
			h := startHost(t, func(c *host.Config) {
				c.API.Addr, c.API.Insecure, c.Public = "0.0.0.0:0", true, public
				c.API.Keys = []host.APIKey{{ID: "KEYFILE", Secret: apiSecret}}
			}, newParting)
			_, port, err := net.SplitHostPort(h.host.Addrs().API)
			if err != nil {
				t.Fatal(err)
			}
			h.api = gamelift.New(gamelift.Options{
				Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:" + port), RetryMaxAttempts: 1, HTTPClient: h.Web,
				Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{AccessKeyID: "KEYFILE", SecretAccessKey: apiSecret}, nil
				}),
			})
			game := h.newGame(2)
			if _, err := h.terminate(game, types.TerminationModeForceTerminate); err != nil {
				t.Fatal(err)
			}
			h.awaitEnd(game, types.GameSessionStatusReasonForceTerminated)
			url, err := h.logURL(game)
			if want := "http://" + cmp.Or(public.Host, public.IP) + ":" + port + "/"; err != nil || !strings.HasPrefix(url, want) {
				t.Fatalf("%q, %v, want %s", url, err, want)
			}
			h.fetch(url, http.StatusOK)
		}
	})
}

// If logs cannot be written, games run nevertheless.
func TestGamesGoOnWithoutLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.Log.GameSessions.Dir = os.DevNull
		}, newParting)
		game := h.newGame(2)
		if _, err := h.terminate(game, types.TerminationModeTriggerOnProcessTerminate); err != nil {
			t.Fatal(err)
		}
		h.awaitEnd(game, types.GameSessionStatusReasonTriggeredOnProcessTerminate)
		h.until("lines are counted", func() error {
			if n := h.host.Counters().LogLinesDropped.Load(); n < 2 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		_, err := h.logURL(game)
		if missing := new(types.NotFoundException); !errors.As(err, &missing) {
			t.Errorf("the log that was never written: %v", err)
		}
	})
}

// A game session that logged nothing has no log after its end (realtime.md 18.1).
func TestNoLogIsOfferedOfASilentGameSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		game := h.newGame(2)
		if _, err := h.terminate(game, types.TerminationModeForceTerminate); err != nil {
			t.Fatal(err)
		}
		h.awaitEnd(game, types.GameSessionStatusReasonForceTerminated)
		_, err := h.logURL(game)
		if missing := new(types.NotFoundException); !errors.As(err, &missing) || !strings.Contains(err.Error(), "logged nothing") {
			t.Errorf("the log of a game session that logged nothing: %v", err)
		}
	})
}

// syncBuffer is a buffer for concurrent use.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
