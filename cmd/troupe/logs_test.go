package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"troupe/transport/awswire"
)

// From another machine the logs are for those with a key.
func TestLogsAreAskedForWithAKey(t *testing.T) {
	const secret, game = "canary-secret-of-the-key", "arn:aws:gamelift:eu-west-1::gamesession/fleet-dev/gsess-1"
	keys, err := awswire.NewSigV4(awswire.SigV4Options{Regions: []string{"eu-west-1"}, Keys: []awswire.Key{{ID: "KEYALL", Secret: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proof, err := keys.Authenticate(r)
		if err == nil {
			_, err = proof(nil)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "lines of ", r.URL.Query().Get("id"))
	}))
	defer host.Close()
	for key, want := range map[string]string{"KEYALL": "", "KEYNONE": "logs: ", "": "logs: "} {
		var out bytes.Buffer
		c := logsCommand{endpoint: endpoint{Endpoint: host.URL + "/", caller: caller{Region: "eu-west-1", AccessKey: key, SecretKey: secret}}, ID: game}
		err := c.Run(streams{out: &out})
		switch {
		case want == "" && (err != nil || out.String() != "lines of "+game):
			t.Errorf("with a key: %q, %v", out.String(), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v", key, err)
		}
	}
}
