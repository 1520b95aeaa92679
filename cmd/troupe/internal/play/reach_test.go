package play

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/cmd/troupe/internal/reach"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
)

// saying returns a handler that answers with raw text instead of HTTP.
func saying(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// read the whole request first; otherwise the answer could arrive before the client has sent it
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}
}

// Errors of calls give the address and the cause, without the text of the SDK.
func TestExplain(t *testing.T) { synctest.Test(t, explain) }

func explain(t *testing.T) {
	network := memnet.New(1)
	t.Cleanup(network.Close)
	at := network.Machine()
	for want, handle := range map[string]http.HandlerFunc{
		"the host at URL did not answer in time": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not detected
			<-r.Context().Done()
		},
		"the host at URL did not answer: HTTP status 503":                      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusServiceUnavailable) },
		"the server at URL is not the service API of a host (HTTP status 404)": http.NotFound,
		"URL does not take calls without TLS, or is not the service API of a host (HTTP status 400): is it https://?": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
		},
		"what answers at URL does not speak HTTP: give the address of a host's service API (api.addr)": saying("SSH-2.0-OpenSSH_9.6\r\n"),
		"URL does not answer without TLS: is it https://?":                                             saying("\x15\x03\x01\x00\x02\x02\x46\r\n"),
	} {
		o := Options{API: hosttest.Serve(t, at, handle), Region: "us-east-1", Network: at}
		_, err := o.Service().ListFleets(t.Context(), &gamelift.ListFleetsInput{})
		said := reach.Explain(o.API, err)
		if said == nil || said.Error() != strings.ReplaceAll(want, "URL", o.API) || !errors.Is(said, err) {
			t.Errorf("%v\nwant %s", said, want)
		}
	}
	if err := reach.Explain("nonsense", nil); err != nil {
		t.Error(err)
	}
}
