package endpoint_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/host"
)

// sign returns the members of a query that is signed at a time (server-sdk.md 5.3).
func (w *world) sign(pid, key, secret string, at time.Time) []string {
	date := at.UTC().Format("20060102T150405Z")
	scope := date[:8] + "/us-east-1/gamelift/aws4_request"
	canonical := sha256.Sum256([]byte(url.Values{"ComputeId": {"host-01"}, "FleetId": {string(w.fleet)}, "pID": {pid}}.Encode()))
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	by := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		by = mac(by, part)
	}
	signature := hex.EncodeToString(mac(by, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hex.EncodeToString(canonical[:])))
	return []string{"Authorization", "SigV4", "X-Amz-Algorithm", "AWS4-HMAC-SHA256", "X-Amz-Credential", key + "/" + scope, "X-Amz-Date", date, "X-Amz-Signature", signature}
}

// SS-9, SS-125, SS-126, D-415: signatures with the keys of the service API.
func TestSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "SELFHOSTEDSECRETKEY0000000000000000000000"
		w := begin(t, func(c *host.Config) {
			c.API.Keys = []host.APIKey{{ID: "AKIDFLEETS", Secret: secret}, {ID: "AKIDOTHER", Secret: secret, Allow: []string{"gamelift:Describe*"}}}
		})
		signed := w.sign("p", "AKIDFLEETS", secret, time.Now())
		for name, q := range map[string][]string{
			"another process": w.sign("q", "AKIDFLEETS", secret, time.Now()), "another secret": w.sign("p", "AKIDFLEETS", secret+"x", time.Now()),
			"an unknown key": w.sign("p", "AKIDNOBODY", secret, time.Now()), "a key for other things": w.sign("p", "AKIDOTHER", secret, time.Now()),
			"an old one": w.sign("p", "AKIDFLEETS", secret, time.Now().Add(-6*time.Minute)), "a future one": w.sign("p", "AKIDFLEETS", secret, time.Now().Add(6*time.Minute)),
		} {
			if _, status := w.dial("/server-sdk", w.query("p", q...)); status != 403 {
				t.Errorf("%s: %d", name, status)
			}
		}
		p := w.connect("p", signed...)
		p.call(200, "ActivateServerProcess", port(1))
		p.silent()
		p.beat(true)
		at := time.Now()
		var r struct{ AuthToken string }
		p.pushed("RefreshConnection", &r)
		if d := time.Since(at); d != 200*time.Millisecond {
			t.Errorf("refreshed after %v", d)
		}
		for range 6 {
			time.Sleep(time.Minute)
			p.send("HeartbeatServerProcess", `"HealthStatus":true`)
		}
		p = w.connect("p", signed...) // the same signature, of the process that lives
		p.beat(true)
		w.token = r.AuthToken
		p = w.connect("p")
		p.beat(true)
		time.Sleep(time.Minute)
		p.silent()
	})
}
