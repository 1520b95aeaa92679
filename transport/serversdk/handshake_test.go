package serversdk

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

const query = "Authorization=TOKEN&ComputeId=host-01&FleetId=fleet-0a1b2c3d&IdempotencyToken=u&pID=proc-42&sdkLanguage=Go&sdkVersion=5.6.0"

// SS-3, SS-4, SS-10, SS-127.
func TestHandshakesAreRead(t *testing.T) {
	want := Handshake{ProcessID: "proc-42", ComputeID: "host-01", FleetID: "fleet-0a1b2c3d", SDKVersion: "5.6.0", SDKLanguage: "Go", Token: "TOKEN"}
	for _, raw := range []string{query, "x=y&" + query, query + "&pID=other", query + "&&=&%zz", strings.Join(reversed(strings.Split(query, "&")), "&")} {
		if h, refusal := ParseHandshake(raw); refusal != nil || h != want || !h.Go() {
			t.Errorf("%s: %+v, %v", raw, h, refusal)
		}
	}
	for raw, id := range map[string]string{"a_b.c": "a_b.c", "a+b": "a b", "a%20b": "a b", "100%": "100%", "ProcessId_1767225600": "ProcessId_1767225600"} {
		if h, refusal := ParseHandshake(strings.Replace(query, "proc-42", raw, 1)); refusal != nil || h.ProcessID != id {
			t.Errorf("%s: %+v, %v", raw, h, refusal)
		}
	}
	for raw, status := range map[string]int{
		"": 400, strings.Replace(query, "pID", "pid", 1): 400, strings.Replace(query, "proc-42", "", 1): 400, strings.Replace(query, "proc-42", "a%00b", 1): 400,
		strings.Replace(query, "proc-42", "%ff", 1): 400, strings.Replace(query, "proc-42", strings.Repeat("p", 257), 1): 400,
		strings.Replace(query, "host-01", "a/b/c", 1): 400, strings.Replace(query, "fleet-0a1b2c3d", "arn:aws", 1): 400,
		strings.Replace(query, "TOKEN", "", 1): 401, strings.Replace(query, "Authorization", "authorization", 1): 401,
		query + "&x=" + strings.Repeat("x", QueryMax): 400,
	} {
		if h, refusal := ParseHandshake(raw); refusal == nil || refusal.Status != status || h != (Handshake{}) {
			t.Errorf("%.200s: %+v, %+v", raw, h, refusal)
		}
	}
}

func reversed(parts []string) (all []string) {
	for _, p := range parts {
		all = append([]string{p}, all...)
	}
	return all
}

// SS-9, SS-125: both vectors of server-sdk.md 5.3.
func TestSigV4OfAQuery(t *testing.T) {
	params := url.Values{"param1": {"value1"}, "param2": {"value2"}}
	if got := signature(params, "testSecretKey", "20240805T100000Z", "20240805/us-east-1/gamelift/aws4_request"); got != "2601fe291f4b43a63f6ffb0e1d9085a1edbaa2a866c96511e153af3408bfe771" {
		t.Errorf("the official vector: %s", got)
	}
	const secret = "SELFHOSTEDSECRETKEY0000000000000000000000"
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	signed := url.Values{"X-Amz-Algorithm": {"AWS4-HMAC-SHA256"}, "X-Amz-Credential": {"KEY/20250102/us-west-2/gamelift/aws4_request"}, "X-Amz-Date": {"20250102T030405Z"},
		"X-Amz-Signature": {"c5ccc20140582ac487d612632e6a4899c31b61613c9f43d152cdd1ab915d5b53"}}
	raw := strings.Replace(query, "TOKEN", "SigV4", 1) + "&" + signed.Encode()
	valid := func(raw, secret, region string, now time.Time) bool {
		h, refusal := ParseHandshake(raw)
		if refusal != nil || h.SigV4 == nil || h.Token != "" {
			t.Fatalf("%+v, %v", h, refusal)
		}
		return h.Verify(secret, region, now)
	}
	for _, now := range []time.Time{at, at.Add(5 * time.Minute), at.Add(-5 * time.Minute)} {
		if !valid(raw, secret, "us-west-2", now) {
			t.Errorf("refused at %v", now)
		}
	}
	h, _ := ParseHandshake(raw)
	if h.SigV4.AccessKey() != "KEY" {
		t.Errorf("key %s", h.SigV4.AccessKey())
	}
	for name, ok := range map[string]bool{
		"late": valid(raw, secret, "us-west-2", at.Add(6*time.Minute)), "early": valid(raw, secret, "us-west-2", at.Add(-6*time.Minute)),
		"secret": valid(raw, secret+"x", "us-west-2", at), "region": valid(raw, secret, "us-east-1", at),
		"process": valid(strings.Replace(raw, "proc-42", "proc-43", 1), secret, "us-west-2", at), "compute": valid(strings.Replace(raw, "host-01", "host-02", 1), secret, "us-west-2", at),
		"scope":     valid(strings.Replace(raw, "us-west-2", "us-east-1", 1), secret, "us-west-2", at),
		"algorithm": valid(strings.Replace(raw, "AWS4-HMAC-SHA256", "none", 1), secret, "us-west-2", at),
		"date":      valid(strings.Replace(raw, "20250102T030405Z", "x", 1), secret, "us-west-2", at), "none": valid(strings.Replace(query, "TOKEN", "SigV4", 1), secret, "us-west-2", at),
	} {
		if ok {
			t.Errorf("accepted: %s", name)
		}
	}
}

// Any query is read or refused, and a signature in it is never accepted by chance.
func FuzzHandshake(f *testing.F) {
	f.Add(query)
	f.Add(strings.Replace(query, "TOKEN", "SigV4", 1) + "&X-Amz-Date=20250102T030405Z&X-Amz-Credential=K/20250102/us-west-2/gamelift/aws4_request&X-Amz-Algorithm=AWS4-HMAC-SHA256")
	f.Fuzz(func(t *testing.T, raw string) {
		h, refusal := ParseHandshake(raw)
		if refusal == nil && (h.ProcessID == "" || h.ComputeID == "" || h.FleetID == "" || h.Token == "" && h.SigV4 == nil) {
			t.Errorf("%q: %+v", raw, h)
		}
		if refusal == nil && h.SigV4 != nil && h.Verify("secret", "us-west-2", time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)) {
			t.Errorf("%q is accepted", raw)
		}
	})
}
