package play

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/cmd/troupe/internal/reach"
)

// saying returns the address of a server that is no HTTP server: it says this to whoever has said something.
func saying(t *testing.T, text string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}

// Errors of calls name the address and the cause, without the SDK's own text.
func TestExplain(t *testing.T) {
	t.Parallel()
	for want, handle := range map[string]http.HandlerFunc{
		"the host at URL did not answer in time": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
			<-r.Context().Done()
		},
		"the host at URL did not answer: HTTP status 503":                      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusServiceUnavailable) },
		"the server at URL is not the service API of a host (HTTP status 404)": http.NotFound,
		"URL does not take calls without TLS, or is not the service API of a host (HTTP status 400): is it https://?": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
		},
	} {
		server := httptest.NewServer(handle)
		defer server.Close()
		limit := time.Minute
		if strings.Contains(want, "in time") {
			limit = 300 * time.Millisecond
		}
		api := gamelift.New(gamelift.Options{
			Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1, Credentials: aws.AnonymousCredentials{},
			HTTPClient: &http.Client{Timeout: limit},
		})
		_, err := api.ListFleets(context.Background(), &gamelift.ListFleetsInput{})
		said := reach.Explain(server.URL, err)
		if said == nil || said.Error() != strings.ReplaceAll(want, "URL", server.URL) || !errors.Is(said, err) {
			t.Errorf("%v\nwant %s", said, want)
		}
	}
	for said, want := range map[string]string{
		"SSH-2.0-OpenSSH_9.6\r\n":          "what answers at URL does not speak HTTP: give the address of a host's service API (api.addr)",
		"\x15\x03\x01\x00\x02\x02\x46\r\n": "URL does not answer without TLS: is it https://?",
	} {
		url := "http://" + saying(t, said)
		_, err := http.Get(url)
		if got := reach.Explain(url, err); got == nil || got.Error() != strings.ReplaceAll(want, "URL", url) {
			t.Errorf("%v\nwant %s", got, want)
		}
	}
	if err := reach.Explain("nonsense", nil); err != nil {
		t.Error(err)
	}
}
