package awswire

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	headerAuthorization = "Authorization"
	headerDate          = "X-Amz-Date"
	headerToken         = "X-Amz-Security-Token"
	headerPayload       = "X-Amz-Content-Sha256"

	signedHeadersMax = 64 // limits the work per request; clients sign about ten
)

// signed is the parsed signature of a request, not yet verified.
//
//	AWS4-HMAC-SHA256 Credential=<key>/<yyyymmdd>/<region>/gamelift/aws4_request, SignedHeaders=<a;b;c>, Signature=<hex>
type signed struct {
	keyID, region, service string
	token                  string // session token; empty without one
	date                   string // X-Amz-Date as sent; its day must equal the day of the scope
	time                   time.Time
	headers                []string // names of the signed headers: lower case, sorted, without duplicates
	signature              []byte
}

func parseSigned(r *http.Request) (*signed, error) {
	if r.Header.Get(headerAuthorization) == "" {
		return nil, refuse(missingToken, "Missing Authentication Token")
	}
	for _, name := range []string{headerAuthorization, headerDate, headerToken, headerPayload, headerTarget} {
		if len(r.Header.Values(name)) > 1 {
			return nil, refuse(incomplete, "The header %s is there more than once.", strings.ToLower(name))
		}
	}
	q := &signed{token: r.Header.Get(headerToken), date: r.Header.Get(headerDate)}
	scopeDay, err := q.parseAuthorization(r.Header.Get(headerAuthorization))
	if err != nil {
		return nil, err
	}
	if q.date == "" {
		return nil, refuse(incomplete, "Authorization header requires existence of an 'X-Amz-Date' header.")
	}
	// the length is checked because Parse would accept a fraction
	if q.time, err = time.Parse(dateForm, q.date); err != nil || len(q.date) != len(dateForm) {
		return nil, refuse(incomplete, "Date must be in ISO-8601 'basic format'. Got '%s'. See http://en.wikipedia.org/wiki/ISO_8601", Clip(q.date))
	}
	if q.date[:8] != scopeDay {
		return nil, refuse(incomplete, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s'.", Clip(scopeDay), q.date[:8])
	}
	return q, nil
}

// parseAuthorization parses the Authorization header and returns the day of the credential scope.
func (q *signed) parseAuthorization(header string) (day string, err error) {
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return "", refuse(incomplete, "Authorization header must be of the algorithm %s.", algorithm)
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := parts[name]; twice || value == "" || len(parts) == 3 {
			return "", refuse(incomplete, "Authorization header is malformed: it takes Credential, SignedHeaders and Signature, once each.")
		}
		parts[name] = value
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if parts[name] == "" {
			return "", refuse(incomplete, "Authorization header requires '%s' parameter.", name)
		}
	}
	scope := strings.Split(parts["Credential"], "/")
	if len(scope) != 5 || scope[4] != scopeEnd {
		return "", refuse(incomplete, "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/%s.", scopeEnd)
	}
	q.keyID, q.region, q.service = scope[0], scope[2], scope[3]
	q.signature, err = hex.DecodeString(parts["Signature"])
	if err != nil || len(q.signature) != 32 {
		return "", refuse(incomplete, "Signature must be 64 hexadecimal digits.")
	}
	q.headers = strings.Split(parts["SignedHeaders"], ";")
	if len(q.headers) > signedHeadersMax || !inOrder(q.headers) {
		return "", refuse(incomplete, "SignedHeaders must be at most %d names in lower case, sorted, each once.", signedHeadersMax)
	}
	return scope[1], nil
}

// inOrder reports whether names are lower-case header names, sorted and without duplicates.
func inOrder(names []string) bool {
	for i, name := range names {
		if name == "" || strings.ToLower(name) != name || (i > 0 && names[i-1] >= name) {
			return false
		}
	}
	return true
}

// checkSignedHeaders refuses a signature that does not cover the host and all x-amz- headers, for example the
// date and the target.
func (q *signed) checkSignedHeaders(r *http.Request) error {
	must := []string{"host"}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") {
			must = append(must, name)
		}
	}
	for _, name := range must {
		if _, there := slices.BinarySearch(q.headers, name); !there {
			return refuse(invalidSignature, "'%s' must be a 'SignedHeader' in the AWS Authorization.", Clip(name))
		}
	}
	return nil
}

// canonicalRequest performs step 5 of service-api.md 1.4.
func (q *signed) canonicalRequest(r *http.Request, payload string) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", refuse(invalidSignature, "The query string of the request cannot be read.")
	}
	for _, values := range query {
		slices.Sort(values)
	}
	var b strings.Builder
	b.WriteString(r.Method + "\n" + canonicalPath(r) + "\n" + strings.ReplaceAll(query.Encode(), "+", "%20") + "\n")
	for _, name := range q.headers {
		b.WriteString(name + ":" + canonicalHeader(r, name) + "\n")
	}
	b.WriteString("\n" + strings.Join(q.headers, ";") + "\n" + payload)
	return b.String(), nil
}

// pathEscapes turns the encoding of a query into that of a path.
var pathEscapes = strings.NewReplacer("+", "%20", "%2F", "/")

// canonicalPath encodes the already encoded path a second time, as GameLift's clients do. If a proxy has
// removed a prefix, the path includes it.
func canonicalPath(r *http.Request) string {
	sent := (&url.URL{Path: Prefix(r)}).EscapedPath() + r.URL.EscapedPath()
	if sent == "" {
		return "/"
	}
	return pathEscapes.Replace(url.QueryEscape(sent))
}

// canonicalHeader returns the value of a header as it was signed. net/http moves host and content-length out
// of the header map, so they need extra cases.
func canonicalHeader(r *http.Request, name string) string {
	values := r.Header.Values(name)
	switch {
	case name == "host":
		values = []string{r.Host}
	case name == "content-length" && r.ContentLength >= 0:
		values = []string{strconv.FormatInt(r.ContentLength, 10)}
	}
	clean := make([]string, len(values))
	for i, v := range values {
		clean[i] = strings.Join(strings.FieldsFunc(v, func(c rune) bool { return c == ' ' }), " ")
	}
	return strings.Join(clean, ",")
}
