package sdkclient

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// SigV4 has the keys of a process without a token.
type SigV4 struct{ Region, AccessKey, SecretKey, SessionToken string }

// target is where and as whom a process connects. A reconnect uses the same one again.
type target struct {
	endpoint string
	query    string
	token    string // which is also in the query; empty with SigV4
}

// newTarget returns a target, with a new IdempotencyToken. Without a token and without SigV4 it has no authorization.
func (p *Process) newTarget(endpoint, token string, sign *SigV4) target {
	endpoint, _, _ = strings.Cut(endpoint, "?")
	members := [][2]string{
		{"pID", p.o.ProcessID}, {"sdkVersion", p.rules.version}, {"sdkLanguage", p.rules.language},
		{"ComputeId", p.o.HostID}, {"FleetId", p.o.FleetID}, {"IdempotencyToken", p.newID()},
	}
	switch {
	case token != "":
		members = append(members, [2]string{"Authorization", token})
	case sign != nil:
		members = append(members, [2]string{"Authorization", "SigV4"})
		for key, value := range sign.members(p.o, time.Now().UTC()) {
			if p.rules.slash {
				value = url.QueryEscape(value) // the only values that the SDK for C++ encodes
			}
			members = append(members, [2]string{key, value})
		}
	}
	if p.rules.goTransport {
		values := url.Values{}
		for _, m := range members {
			values.Set(m[0], m[1])
		}
		return target{endpoint, values.Encode(), token}
	}
	if p.rules.slash && !strings.HasSuffix(endpoint, "/") {
		endpoint += "/"
	}
	var parts []string
	for _, m := range members {
		parts = append(parts, m[0]+"="+m[1])
	}
	slices.Sort(parts) // any order will do; this one is the same each time
	return target{endpoint, strings.Join(parts, "&"), token}
}

// newID returns a RequestId or an IdempotencyToken: a UUID, and 32 letters and digits in C++.
func (p *Process) newID() string {
	if p.rules.uuids {
		return uuid.NewString()
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// members signs the identity of a process (server-sdk.md 5.3).
func (s *SigV4) members(o Options, now time.Time) map[string]string {
	signed := url.Values{"ComputeId": {o.HostID}, "FleetId": {o.FleetID}, "pID": {o.ProcessID}}
	date := now.Format("20060102T150405Z")
	scope := date[:8] + "/" + s.Region + "/gamelift/aws4_request"
	m := map[string]string{
		"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": s.AccessKey + "/" + scope, "X-Amz-Date": date,
		"X-Amz-Signature": sign(signed, s.SecretKey, date, scope),
	}
	if s.SessionToken != "" {
		m["X-Amz-Security-Token"] = s.SessionToken
	}
	return m
}

func sign(signed url.Values, secret, date, scope string) string {
	canonical := sha256.Sum256([]byte(signed.Encode()))
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hex.EncodeToString(canonical[:])))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
