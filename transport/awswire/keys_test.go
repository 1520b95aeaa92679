package awswire

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/transport/awswire/awswiretest"
)

func TestAPIKeysMayCallWhatTheyAreAllowed(t *testing.T) {
	a := newAPI(t, withKeys(func(o *SigV4Options) {
		o.Keys = []Key{{ID: testKey, Secret: testSecret, Allow: []string{"gamelift:Describe*", "gamelift:ListFleet?"}}}
	}))
	for operation, allowed := range map[string]bool{
		"DescribeFleetAttributes": true, "DescribeGameSessions": true, "ListFleets": true,
		"CreateGameSession": false, "DeleteFleet": false, "ListScripts": false, "ClaimGameServer": false,
	} {
		inBoth(t, func(t *testing.T, protocol string) {
			r := newRequest(protocol, "http://host.example/", operation, nil)
			awswiretest.SignedBy(testKey).Sign(r, nil)
			got := served(t, a, protocol, r)
			if (got.Code() == accessDenied) == allowed {
				t.Errorf("%s: got %d %v", operation, got.Status, got.Body)
			}
			if !allowed {
				got.Want(t, http.StatusBadRequest, accessDenied)
			}
		})
	}
	r := newRequest("json", "http://host.example/", "NoSuchThing", nil) // an unknown operation is reported as unknown, not as denied
	awswiretest.SignedBy(testKey).Sign(r, nil)
	served(t, a, "json", r).Want(t, http.StatusBadRequest, unknownOperation)
}

// Each key has its own rate limit, which counts calls of all operations.
func TestAPIThrottlesPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, withKeys(func(o *SigV4Options) {
			o.Keys = []Key{{ID: testKey, Secret: testSecret, Rate: 10, Burst: 3}, {ID: "AKIDOTHER", Secret: testSecret, Rate: 10, Burst: 3}}
		}))
		call := func(key string) reply {
			r := newRequest("cbor", "http://host.example/", "ListFleets", nil)
			awswiretest.SignedBy(key).Sign(r, nil)
			return served(t, a, "cbor", r)
		}
		for range 3 {
			call(testKey).OK(t)
		}
		call(testKey).Want(t, http.StatusBadRequest, throttled)
		call("AKIDOTHER").OK(t)
		time.Sleep(100 * time.Millisecond)
		call(testKey).OK(t)
		call(testKey).Want(t, http.StatusBadRequest, throttled)

		forged := awswiretest.SignedBy(testKey) // a call with a wrong signature does not count toward the key's limit
		forged.Secret = "not the secret at all"
		time.Sleep(100 * time.Millisecond)
		for range 10 {
			r := newRequest("cbor", "http://host.example/", "ListFleets", nil)
			forged.Sign(r, nil)
			served(t, a, "cbor", r).Want(t, http.StatusBadRequest, invalidSignature)
		}
		call(testKey).OK(t)
	})
}

// No secret, token, signature or player data appears in the log at any level. The test uses recognizable
// values.
func TestAPILogKeepsSecrets(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, func(o *Options) { o.Log = zerolog.New(&log).Level(zerolog.TraceLevel) }, withKeys())
	good, bad := awswiretest.SignedBy(tokenKey), awswiretest.SignedBy(tokenKey)
	good.Token, bad.Token = testToken, "canary-of-a-token"
	bad.Secret = "canary-of-a-secret"
	wrong := awswiretest.SignedBy(testKey)
	wrong.Secret = "canary-of-a-secret"
	inBoth(t, func(t *testing.T, protocol string) {
		for _, how := range []awswiretest.Signing{good, bad, wrong, awswiretest.SignedBy("canary-of-a-key")} {
			for _, operation := range []string{"ListFleets", "CreatePlayerSession", "unknown-operation--unknown-operation--unknown-operation-"} {
				body := encode(t, protocol, members{"PlayerId": "canary-of-a-player", "PlayerData": "canary-of-data", "NextToken": "canary-of-a-page"})
				r := newRequest(protocol, "http://host.example/", operation, body)
				how.Sign(r, body)
				served(t, a, protocol, r)
			}
		}
	})
	text := log.String()
	for _, canary := range []string{testSecret, testToken, "canary-of-a", "canary-of-data", "Signature=", "AWS4"} {
		if strings.Contains(text, canary) {
			t.Errorf("the log has %q:\n%s", canary, text)
		}
	}
	if !strings.Contains(text, `"key":"`+tokenKey[:8]+`"`) {
		t.Error("nothing was logged")
	}
}
