package acceptance_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/smithy-go"
	"github.com/rs/zerolog"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/stock"
)

const apiSecret = "canary-secret-of-the-api-key"

// keyed calls the API of a host with an access key.
func keyed(h *testHost, url, id, secret string, client *http.Client) error {
	h.Helper()
	o := gamelift.Options{
		Region: "us-east-1", BaseEndpoint: &url, RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, nil
		}),
	}
	o.HTTPClient = client
	if client == nil {
		o.HTTPClient = h.Web
	}
	_, err := gamelift.New(o).ListFleets(h.context(), &gamelift.ListFleetsInput{})
	return err
}

func refusedAs(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return ""
}

func secretFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(apiSecret+"\n"), mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// RL-212.
func TestAPIWithKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.API.Keys = []host.APIKey{
				{ID: "KEYFILE", SecretFile: secretFile(t, 0o600)},
				{ID: "KEYREAD", Secret: apiSecret, Allow: []string{"gamelift:Describe*"}},
				{ID: "KEYSLOW", Secret: apiSecret, Rate: 0.001, Burst: 1},
			}
		}, nil)
		url := h.host.Addrs().APIURL
		if err := keyed(h, url, "KEYFILE", apiSecret, nil); err != nil {
			t.Error(err)
		}
		for _, c := range []struct{ id, secret, code string }{
			{"KEYFILE", "another-secret-altogether", "InvalidSignatureException"},
			{"KEYNONE", apiSecret, "UnrecognizedClientException"},
			{"KEYREAD", apiSecret, "AccessDeniedException"},
			{"KEYSLOW", apiSecret, ""},
			{"KEYSLOW", apiSecret, "ThrottlingException"},
		} {
			if err := keyed(h, url, c.id, c.secret, nil); refusedAs(err) != c.code {
				t.Errorf("%s: got %v, want %s", c.id, err, c.code)
			}
		}
	})
}

// With TLS the traffic is encrypted, and the client checks the name in the certificate.
func TestAPIWithTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.API.TLS, c.TLS.Dir = true, t.TempDir()
			c.API.Keys = []host.APIKey{{ID: "KEYFILE", Secret: apiSecret}}
		}, nil)
		a := h.host.Addrs()
		if a.APIURL != "https://"+a.API {
			t.Fatalf("announced %+v", a)
		}
		pem, err := os.ReadFile(a.CA)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport := &http.Transport{DialContext: h.Net.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots}}
		t.Cleanup(transport.CloseIdleConnections)
		if err := keyed(h, a.APIURL, "KEYFILE", apiSecret, &http.Client{Transport: transport}); err != nil {
			t.Error(err)
		}
		if err := keyed(h, "http://"+a.API, "KEYFILE", apiSecret, nil); err == nil {
			t.Error("answered without TLS")
		}
	})
}

func TestSecretFileIsTheOwnersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, file := range map[string]string{"open to all": secretFile(t, 0o644), "absent": filepath.Join(t.TempDir(), "none")} {
			c := hosttest.Config(t)
			c.API.Keys = []host.APIKey{{ID: "KEYFILE", SecretFile: file}}
			h, err := host.Start(host.Options{Config: c, Network: newNetwork(t)})
			if err == nil {
				h.Close()
			}
			if err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// A host's log contains no secret of an access key, at any level.
// RL-213.
func TestHostLogKeepsSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := startHostWith(t, func(c *host.Config) {
			c.API.Keys = []host.APIKey{{ID: "KEYFILE", Secret: apiSecret, SessionToken: ""}, {ID: "KEYREAD", SecretFile: secretFile(t, 0o600)}}
		}, func(o *host.Options) { o.Log = zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.TraceLevel) })
		_ = keyed(h, h.host.Addrs().APIURL, "KEYFILE", apiSecret, nil)
		_ = keyed(h, h.host.Addrs().APIURL, "KEYREAD", apiSecret+"x", nil)
		h.host.Close()
		if text := log.String(); strings.Contains(text, apiSecret) || !strings.Contains(text, "api request") {
			t.Errorf("the log:\n%s", text)
		}
	})
}

// The log contains no complete player session id, whatever happens to the player.
// RL-213.
func TestHostLogKeepsPlayerSessionIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var welcome atomic.Bool
		g := &fakeGame{connect: func(script.Session, *script.ConnectMessage) bool { return welcome.Load() }}
		h := startHostWith(t, nil, func(o *host.Options) {
			o.NewHandler = func(*messages.Fleet) script.Handler { return g.make() }
			o.Log = zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.TraceLevel)
		})
		ids := h.seats(h.newGame(2), 2)
		h.expectRefused(h.dial(ids[0], stock.Options{NoUDP: true}))
		welcome.Store(true)
		first := h.join(ids[0], stock.Options{NoUDP: true})
		h.join(ids[0], stock.Options{NoUDP: true}) // takes over the connection
		h.awaitClose(first, messages.CloseTakenOver)
		h.join(ids[1], stock.Options{NoUDP: true}).Kill()
		h.host.Close()
		text := log.String()
		if strings.Contains(text, ids[0]) || strings.Contains(text, ids[1]) || !strings.Contains(text, messages.PlayerSessionID(ids[0]).Short()) {
			t.Errorf("the log has one of %q in full, or the first not even in short:\n%s", ids, text)
		}
	})
}
