package reach_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/cmd/troupe/internal/reach"
)

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
	if err := reach.Explain("nonsense", nil); err != nil {
		t.Error(err)
	}
}
