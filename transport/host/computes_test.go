package host

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"troupe/messages"
)

// syncBuffer is a log that may be written by any goroutine.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// SS-8, SS-44: computes get the configured URL, or that of the host's own address. A token stands in no log.
func TestComputesOverTheAPI(t *testing.T) {
	for configured, scheme := range map[string]string{"": "ws://127.0.0.1:", "wss://sdk.example.test/x": "wss://sdk.example.test/x"} {
		synctest.Test(t, func(t *testing.T) {
			log := new(syncBuffer)
			c := config(t)
			c.ServerSDK.URL = configured
			h := begin(t, Options{Config: c, Log: zerolog.New(log).Level(zerolog.TraceLevel)})
			call := func(operation, in string) (out struct {
				Compute   struct{ GameLiftServiceSdkEndpoint string }
				AuthToken string
			}) {
				t.Helper()
				code, _, text := h.call("POST", "/", in, "X-Amz-Target", "GameLift."+operation, "Content-Type", "application/x-amz-json-1.1")
				if code != 200 || json.Unmarshal([]byte(text), &out) != nil {
					t.Fatalf("%s: %d %s", operation, code, text)
				}
				return out
			}
			fleet, err := messages.Do(t.Context(), h.System(), messages.CreateFleet{Anywhere: true, Locations: []string{"custom-lan"}})
			if err != nil {
				t.Fatal(err)
			}
			id := `{"FleetId": "` + string(fleet.ID) + `", "ComputeName": "box"`
			url := call("RegisterCompute", id+`, "Location": "custom-lan", "IpAddress": "10.1.2.3"}`).Compute.GameLiftServiceSdkEndpoint
			if !strings.HasPrefix(url, scheme) || configured == "" && !strings.HasSuffix(url, "/server-sdk") || url != h.Addrs().ServerSDK {
				t.Errorf("the endpoint is %s", url)
			}
			token := call("GetComputeAuthToken", id+"}").AuthToken
			h.Close()
			if text := log.text.String(); len(token) != 36 || strings.Contains(text, token) || !strings.Contains(text, "GetComputeAuthToken") {
				t.Errorf("the log with the token %s is %s", token, text)
			}
		})
	}
}

func TestURLsOfTheServerSDK(t *testing.T) {
	for url, valid := range map[string]bool{
		"": true, "ws://h": true, "wss://h:1/a/b": true, "wss://[2001:db8::1]:9/": true,
		"http://h": false, "h:1": false, "wss://": false, "wss://h/?a=b": false, "wss://h/?": false, "wss://h#x": false, "wss://u:p@h": false, ":": false,
	} {
		c := config(t)
		c.ServerSDK.URL = url
		if err := c.Validate(); (err == nil) != valid || err != nil && !strings.HasPrefix(err.Error(), "serverSDK.url: ") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
