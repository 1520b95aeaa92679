package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// Lines of net/http get a level: info for failed TLS handshakes, which strangers cause, and warn for all
// others.
func TestLinesOfTheHTTPServerHaveALevel(t *testing.T) {
	for line, level := range map[string]string{"http: TLS handshake error from 192.0.2.1:1: EOF\n": "info", "http: response.WriteHeader on hijacked connection\n": "warn"} {
		var out bytes.Buffer
		if n, err := (httpLog{zerolog.New(&out)}).Write([]byte(line)); n != len(line) || err != nil || !strings.Contains(out.String(), `"level":"`+level+`"`) {
			t.Error(n, err, out.String())
		}
	}
}
