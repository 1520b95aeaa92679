package serversdk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"troupe/messages/lazy"
)

// Handshake has the members of a connection URL's query.
type Handshake struct {
	ProcessID, ComputeID, FleetID string
	SDKVersion, SDKLanguage       string // any text
	Token                         string // a compute's token; empty with SigV4
	SigV4                         *SigV4 // nil with a token
}

// SigV4 is a signature in the query (server-sdk.md 5.3).
type SigV4 struct{ Algorithm, Credential, Date, Signature, SecurityToken string }

const (
	// QueryMax is the maximum length of the query in bytes. A session token in it may have 4 kB.
	QueryMax = 16 << 10
	// goLanguage is the sdkLanguage whose superseded connections never get a close frame (server-sdk.md 12.2).
	goLanguage = "Go"

	algorithm  = "AWS4-HMAC-SHA256"
	dateForm   = "20060102T150405Z"
	skewMax    = 5 * time.Minute
	sigV4Token = "SigV4"
)

var (
	computeForm = lazy.Regexp(`\A[a-zA-Z0-9-]+(/[a-zA-Z0-9-]+)?\z`)
	fleetForm   = lazy.Regexp(`\A[a-zA-Z0-9.-]+\z`)
)

// Go reports whether the process uses the Go SDK.
func (h *Handshake) Go() bool { return h.SDKLanguage == goLanguage }

// ParseHandshake reads the raw query of a connection URL. Go encodes values as a form does, C# and C++ do not encode
// them. Keys are case-sensitive, unknown ones are ignored, and the first of several values counts. A Refusal has the
// HTTP status 400 or 401.
func ParseHandshake(rawQuery string) (Handshake, *Refusal) {
	refuse := func(status int, text string) (Handshake, *Refusal) {
		return Handshake{}, &Refusal{Status: status, Text: text}
	}
	if len(rawQuery) > QueryMax {
		return refuse(http.StatusBadRequest, fmt.Sprintf("The query may have at most %d bytes.", QueryMax))
	}
	q := make(map[string]string)
	for part := range strings.SplitSeq(rawQuery, "&") {
		key, raw, _ := strings.Cut(part, "=")
		if _, known := q[key]; known {
			continue
		}
		q[key] = raw
		if decoded, err := url.QueryUnescape(raw); err == nil {
			q[key] = decoded
		}
	}
	h := Handshake{ProcessID: q["pID"], ComputeID: q["ComputeId"], FleetID: q["FleetId"], SDKVersion: q["sdkVersion"], SDKLanguage: q["sdkLanguage"]}
	switch auth := q["Authorization"]; {
	case !processID(h.ProcessID):
		return refuse(http.StatusBadRequest, "pID must be 1 to 256 characters.")
	case len(h.ComputeID) > idMax || !computeForm().MatchString(h.ComputeID):
		return refuse(http.StatusBadRequest, "ComputeId must be the name of a compute.")
	case len(h.FleetID) > idMax || !fleetForm().MatchString(h.FleetID):
		return refuse(http.StatusBadRequest, "FleetId must be the id of a fleet.")
	case len(h.SDKVersion) > idMax || len(h.SDKLanguage) > idMax:
		return refuse(http.StatusBadRequest, "sdkVersion and sdkLanguage may have at most 256 characters.")
	case auth == "":
		return refuse(http.StatusUnauthorized, "Authorization is required: a token, or SigV4.")
	case auth == sigV4Token:
		h.SigV4 = &SigV4{q["X-Amz-Algorithm"], q["X-Amz-Credential"], q["X-Amz-Date"], q["X-Amz-Signature"], q["X-Amz-Security-Token"]}
	default:
		h.Token = auth
	}
	return h, nil
}

// processID reports whether a text may be the id of a process, which users choose.
func processID(id string) bool {
	return id != "" && len(id) <= idMax && utf8.ValidString(id) && strings.IndexFunc(id, unicode.IsControl) < 0
}

// AccessKey returns the access key id of a signature's scope.
func (s *SigV4) AccessKey() string {
	key, _, _ := strings.Cut(s.Credential, "/")
	return key
}

// Verify reports whether the signature is that of the secret for this process, in this region, at most five minutes from
// now. It takes the same time for each wrong signature.
func (h *Handshake) Verify(secret, region string, now time.Time) bool {
	s := h.SigV4
	at, err := time.Parse(dateForm, s.Date)
	if err != nil || s.Algorithm != algorithm || now.Sub(at).Abs() > skewMax {
		return false
	}
	scope := s.Date[:8] + "/" + region + "/gamelift/aws4_request"
	if s.Credential != s.AccessKey()+"/"+scope {
		return false
	}
	signed := url.Values{"ComputeId": {h.ComputeID}, "FleetId": {h.FleetID}, "pID": {h.ProcessID}}
	want := signature(signed, secret, s.Date, scope)
	return hmac.Equal([]byte(want), []byte(s.Signature))
}

// signature signs parameters in their canonical order, which is that of url.Values.Encode.
func signature(signed url.Values, secret, date, scope string) string {
	canonical := sha256.Sum256([]byte(signed.Encode()))
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = hmacOf(key, part)
	}
	return hex.EncodeToString(hmacOf(key, strings.Join([]string{algorithm, date, scope, hex.EncodeToString(canonical[:])}, "\n")))
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
