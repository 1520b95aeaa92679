package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// What net/http says has a level: failed handshakes are what strangers do, all else is a warning.
func TestLinesOfTheHTTPServerHaveALevel(t *testing.T) {
	for line, level := range map[string]string{"http: TLS handshake error from 192.0.2.1:1: EOF\n": "info", "http: response.WriteHeader on hijacked connection\n": "warn"} {
		var out bytes.Buffer
		if n, err := (httpLog{zerolog.New(&out)}).Write([]byte(line)); n != len(line) || err != nil || !strings.Contains(out.String(), `"level":"`+level+`"`) {
			t.Error(n, err, out.String())
		}
	}
}
