package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/transport/awswire"
)

// From another machine, the logs require an access key.
func TestLogsAreAskedForWithAKey(t *testing.T) { synctest.Test(t, logsAreAskedForWithAKey) }

func logsAreAskedForWithAKey(t *testing.T) {
	const secret, game = "canary-secret-of-the-key", "arn:aws:gamelift:eu-west-1::gamesession/fleet-dev/gsess-1"
	keys, err := awswire.NewSigV4(awswire.SigV4Options{Regions: []string{"eu-west-1"}, Keys: []awswire.Key{{ID: "KEYALL", Secret: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	host := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		proof, err := keys.Authenticate(r)
		if err == nil {
			_, err = proof(nil)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "lines of ", r.URL.Query().Get("id"))
	})
	host.url += "/" // some users write the URL like this
	for key, good := range map[string]bool{"KEYALL": true, "KEYNONE": false, "": false} {
		code, out, said := host.call("logs", game, "--region", "eu-west-1", "--access-key", key, "--secret-key", secret)
		if good != (code == 0 && out == "lines of "+game) || good == strings.HasPrefix(said, "troupe: logs: ") {
			t.Errorf("%q: %d %q, %s", key, code, out, said)
		}
	}
}
