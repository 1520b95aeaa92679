package awswire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"troupe/transport/awswire/awswiretest"
)

// setBody replaces the body of a signed request.
func setBody(r *http.Request, body string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

// serveSigned signs a request, calls change to modify it in transit, and serves it.
func serveSigned(t *testing.T, s *api, protocol string, how awswiretest.Signing, target string, change func(r *http.Request)) reply {
	t.Helper()
	body := encode(t, protocol, members{"Limit": 1})
	r := newRequest(protocol, "http://host.example:8080"+target, "ListFleets", body)
	how.Sign(r, body)
	if change != nil {
		change(r)
	}
	return served(t, s, protocol, r)
}

// API-3.
func TestPathPrefixIsSigned(t *testing.T) {
	a := newAPI(t, withKeys())
	inBoth(t, func(t *testing.T, protocol string) {
		for _, target := range []string{"/", "", "/p", "/p/", "/a/b~c/d-e_f.g", "/with%20space", "/%C3%A4/%2F/x", "/a+b/c:d@e", "/?a=2&a=1&b=%20x&c"} {
			if protocol == "cbor" && strings.Contains(target, "?") {
				continue // the operation would come after the query
			}
			if r := serveSigned(t, a, protocol, awswiretest.SignedBy(testKey), target, nil); r.Status != http.StatusOK {
				t.Errorf("%q: %d %v", target, r.Status, r.Body)
			}
		}
	})
}

// A trusted proxy reports the path prefix that it removed. Callers have signed the path with that prefix.
func TestAPrefixThatAProxyTakesAwayIsSigned(t *testing.T) {
	a := newAPI(t, withKeys())
	for _, c := range []struct {
		signed, says string
		believed, ok bool
	}{
		{"/troupe/", "/troupe", true, true}, {"/a/b%20c/", "/a/b c", true, true}, {"/troupe/", "/other", true, false}, {"/troupe/", "", true, false},
		{"/troupe/", "/troupe", false, false}, {"/troupe/", "troupe", true, false}, {"/troupe/", "/troupe/", true, false}, {"/a/../troupe/", "/a/../troupe", true, false},
		{"/" + strings.Repeat("x", prefixMax) + "/", "/" + strings.Repeat("x", prefixMax), true, false},
	} {
		r := serveSigned(t, a, "json", awswiretest.SignedBy(testKey), c.signed, func(r *http.Request) {
			r.URL.Path, r.URL.RawPath = "/", ""
			r.Header.Set(PrefixHeader, c.says)
			if c.believed {
				*r = *WithPrefix(r)
			}
		})
		if (r.Status == http.StatusOK) != c.ok {
			t.Errorf("%+v: %d %v", c, r.Status, r.Body)
		}
	}
}

// API-14.
func TestASignedRequestPasses(t *testing.T) {
	a := newAPI(t, withKeys())
	inBoth(t, func(t *testing.T, protocol string) {
		serveSigned(t, a, protocol, awswiretest.SignedBy(testKey), "/", nil).OK(t)
		with := awswiretest.SignedBy(tokenKey)
		with.Token = testToken
		serveSigned(t, a, protocol, with, "/", nil).OK(t)
		for _, spaced := range []string{"AWS4-HMAC-SHA256 ", "AWS4-HMAC-SHA256   "} { // with and without spaces after the commas
			serveSigned(t, a, protocol, awswiretest.SignedBy(testKey), "/", func(r *http.Request) {
				text := strings.ReplaceAll(r.Header.Get("Authorization"), ", ", ",")
				r.Header.Set("Authorization", spaced+strings.TrimPrefix(text, "AWS4-HMAC-SHA256 "))
			}).OK(t)
		}
	})
}

// API-15.
func TestRefusalsHaveTheirCodes(t *testing.T) {
	now := time.Now()
	a := newAPI(t, func(o *Options) { o.Now = func() time.Time { return now } }, withKeys())
	base := awswiretest.SignedBy(testKey)
	base.At = now
	with := func(change func(s *awswiretest.Signing)) awswiretest.Signing {
		s := base
		change(&s)
		return s
	}
	header := func(name, old, new string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set(name, strings.Replace(r.Header.Get(name), old, new, 1)) }
	}
	cases := []struct {
		name   string
		how    awswiretest.Signing
		change func(r *http.Request)
		code   string
		text   string
	}{
		{"wrong secret", with(func(s *awswiretest.Signing) { s.Secret += "x" }), nil, invalidSignature, "does not match"},
		{"unknown key", with(func(s *awswiretest.Signing) { s.Key = "AKIDNOBODY" }), nil, unrecognizedClient, "token"},
		{"no header", base, func(r *http.Request) { r.Header.Del("Authorization") }, missingToken, "Missing"},
		{"unexpected token", with(func(s *awswiretest.Signing) { s.Token = testToken }), nil, unrecognizedClient, "token"},
		{"no token", with(func(s *awswiretest.Signing) { s.Key = tokenKey }), nil, unrecognizedClient, "token"},
		{"wrong token", with(func(s *awswiretest.Signing) { s.Key, s.Token = tokenKey, "other" }), nil, unrecognizedClient, "token"},
		{"wrong service", with(func(s *awswiretest.Signing) { s.Service = "s3" }), nil, invalidSignature, "correct service: 'gamelift'"},
		{"five minutes old", with(func(s *awswiretest.Signing) { s.At = now.Add(-5*time.Minute - 2*time.Second) }), nil, invalidSignature, "Signature expired: "},
		{"five minutes early", with(func(s *awswiretest.Signing) { s.At = now.Add(5*time.Minute + 2*time.Second) }), nil, invalidSignature, "Signature not yet current: "},
		{"another algorithm", base, header("Authorization", "AWS4-HMAC-SHA256", "Bearer"), incomplete, "algorithm"},
		{"a part too much", base, header("Authorization", "Signature=", "Extra=1, Signature="), incomplete, "malformed"},
		{"a part twice", base, header("Authorization", "Signature=", "Credential=a/b/c/d/aws4_request, Signature="), incomplete, "malformed"},
		{"no signature", base, header("Authorization", ", Signature=", ", Sig="), incomplete, "'Signature'"},
		{"short signature", base, header("Authorization", "Signature=", "Signature=0"), incomplete, "64"},
		{"no hex", base, header("Authorization", "Signature=", "Signature=xyz"), incomplete, "64"},
		{"scope of four", base, header("Authorization", "/gamelift/", "/"), incomplete, "5 slash"},
		{"scope of another end", base, header("Authorization", "aws4_request", "aws5_request"), incomplete, "5 slash"},
		{"headers out of order", base, header("Authorization", "SignedHeaders=", "SignedHeaders=zz;"), incomplete, "SignedHeaders"},
		{"upper case", base, header("Authorization", "host;", "Host;"), incomplete, "SignedHeaders"},
		{"header twice", base, header("Authorization", "host;", "host;host;"), incomplete, "SignedHeaders"},
		{"many headers", base, header("Authorization", "SignedHeaders=", "SignedHeaders="+strings.Repeat("a;", 100)), incomplete, "SignedHeaders"},
		{"no date", base, func(r *http.Request) { r.Header.Del("X-Amz-Date") }, incomplete, "X-Amz-Date"},
		{"date of another form", base, func(r *http.Request) { r.Header.Set("X-Amz-Date", now.Format(time.RFC1123)) }, incomplete, "ISO-8601"},
		{"date with a fraction", base, header("X-Amz-Date", "Z", ".5Z"), incomplete, "ISO-8601"},
		{"date of another day", base, func(r *http.Request) { r.Header.Set("X-Amz-Date", "20200101T000000Z") }, incomplete, "does not match"},
		{"two dates", base, func(r *http.Request) { r.Header.Add("X-Amz-Date", r.Header.Get("X-Amz-Date")) }, incomplete, "more than once"},
		{"two signatures", base, func(r *http.Request) { r.Header.Add("Authorization", "x") }, incomplete, "more than once"},
		{"host not signed", base, header("Authorization", "host;", ""), invalidSignature, "'host'"},
		{"date not signed", base, header("Authorization", ";x-amz-date", ""), invalidSignature, "'x-amz-date'"},
		{"a header more", base, func(r *http.Request) { r.Header.Set("X-Amz-Meta", "1") }, invalidSignature, "'x-amz-meta'"},
	}
	inBoth(t, func(t *testing.T, protocol string) {
		for _, c := range cases {
			r := serveSigned(t, a, protocol, c.how, "/", c.change)
			text, _ := r.Body["message"].(string)
			if r.Status != http.StatusBadRequest || r.Code() != c.code || !strings.Contains(text, c.text) {
				t.Errorf("%s: got %d %v, want %s with %q", c.name, r.Status, r.Body, c.code, c.text)
			}
		}
		within := base
		for _, off := range []time.Duration{-5 * time.Minute, 4 * time.Minute} {
			within.At = now.Add(off + time.Second)
			serveSigned(t, a, protocol, within, "/", nil).OK(t)
		}
	})
}

// API-16.
func TestTheTargetMustBeSigned(t *testing.T) {
	a := newAPI(t, withKeys())
	body := []byte(`{}`)
	r := newRequest("json", "http://host.example/", "ListFleets", body)
	r.Header.Del("X-Amz-Target") // signed without this header
	awswiretest.SignedBy(testKey).Sign(r, body)
	r.Header.Set("X-Amz-Target", "GameLift.ListFleets")
	served(t, a, "json", r).Want(t, http.StatusBadRequest, invalidSignature)

	// A signed CBOR request whose protocol header is not signed must not pass as a JSON request.
	r = newRequest("cbor", "http://host.example/", "ListFleets", body)
	protocol := r.Header.Get("Smithy-Protocol")
	r.Header.Del("Smithy-Protocol")
	awswiretest.SignedBy(testKey).Sign(r, body)
	as := r.Clone(context.Background())
	setBody(as, string(body))
	as.Header.Set("X-Amz-Target", "GameLift.DeleteFleet")
	served(t, a, "json", as).Want(t, http.StatusBadRequest, invalidSignature)
	as.Header.Del("X-Amz-Target")
	setBody(as, string(body))
	as.Header.Set("Smithy-Protocol", protocol)
	if r := served(t, a, "cbor", as); r.Code() == invalidSignature {
		t.Errorf("the protocol header need not be signed: %v", r.Body)
	}
}

// API-17, RL-212.
func TestWhatWasChangedOnTheWayIsRefused(t *testing.T) {
	a := newAPI(t, withKeys())
	how := awswiretest.SignedBy(testKey)
	changes := map[string]func(r *http.Request){
		"body":        func(r *http.Request) { setBody(r, `{"Limit":2}`) },
		"body cut":    func(r *http.Request) { setBody(r, `{}`) },
		"no body":     func(r *http.Request) { r.Body, r.ContentLength = http.NoBody, 0 },
		"path":        func(r *http.Request) { r.URL.Path = "/p" + r.URL.Path },
		"query":       func(r *http.Request) { r.URL.RawQuery = "a=1" },
		"bad query":   func(r *http.Request) { r.URL.RawQuery = "a=%zz;b" },
		"host":        func(r *http.Request) { r.URL.Host = "host.example:8081" },
		"type":        func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"type again":  func(r *http.Request) { r.Header.Add("Content-Type", "text/plain") },
		"date":        func(r *http.Request) { r.Header.Set("X-Amz-Date", how.At.Add(time.Second).UTC().Format(dateForm)) },
		"signature":   func(r *http.Request) { flip(r, "Signature=") },
		"region":      func(r *http.Request) { replaceAuthorization(r, awswiretest.Region, "us-east-2") },
		"another key": func(r *http.Request) { replaceAuthorization(r, testKey, tokenKey) },
		"less signed": func(r *http.Request) { replaceAuthorization(r, "content-type;", "") },
		"more signed": func(r *http.Request) { replaceAuthorization(r, "SignedHeaders=", "SignedHeaders=aaa;") },
		"hash":        func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", awswiretest.HashOf(nil)) },
		"unsigned":    func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", unsignedPayload) },
	}
	inBoth(t, func(t *testing.T, protocol string) {
		for name, change := range changes {
			r := serveSigned(t, a, protocol, how, "/", change)
			if r.Status != http.StatusBadRequest || (r.Code() != invalidSignature && r.Code() != unrecognizedClient) {
				t.Errorf("%s: got %d %v", name, r.Status, r.Body)
			}
		}
	})
	target := func(r *http.Request) { r.Header.Set("X-Amz-Target", "GameLift.DeleteFleet") }
	serveSigned(t, a, "json", how, "/", target).Want(t, http.StatusBadRequest, invalidSignature)
	operation := func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "ListFleets", "ListScripts", 1) }
	serveSigned(t, a, "cbor", how, "/", operation).Want(t, http.StatusBadRequest, invalidSignature)
}

func replaceAuthorization(r *http.Request, old, new string) {
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, new, 1))
}

// flip changes the hexadecimal digit that follows mark.
func flip(r *http.Request, mark string) {
	text := []byte(r.Header.Get("Authorization"))
	at := bytes.Index(text, []byte(mark)) + len(mark)
	if text[at] == '0' {
		text[at] = '1'
	} else {
		text[at] = '0'
	}
	r.Header.Set("Authorization", string(text))
}

func TestAPIUnsignedPayload(t *testing.T) {
	unsigned := awswiretest.SignedBy(testKey)
	unsigned.Payload = unsignedPayload
	send := func(a *api, secured bool) reply {
		body := []byte(`{"Limit":1}`)
		r := newRequest("json", "http://host.example/", "ListFleets", body)
		r.Header.Set("X-Amz-Content-Sha256", unsignedPayload)
		unsigned.Sign(r, body)
		setBody(r, `{"Limit":2}`)
		r.Header.Set("Content-Length", "11")
		if secured {
			r.TLS = &tls.ConnectionState{}
		}
		return served(t, a, "json", r)
	}
	a := newAPI(t, withKeys())
	send(a, false).Want(t, http.StatusBadRequest, invalidSignature)
	send(a, true).OK(t)
}

// API-19.
func TestTheScopesRegionMustBeTheHosts(t *testing.T) {
	a := newAPI(t, withKeys(func(o *SigV4Options) { o.Regions = []string{"eu-west-1"} }))
	inBoth(t, func(t *testing.T, protocol string) {
		how := awswiretest.SignedBy(testKey)
		r := serveSigned(t, a, protocol, how, "/", nil).Want(t, http.StatusBadRequest, invalidSignature)
		if text := r.Body["message"].(string); !strings.Contains(text, "valid region") {
			t.Errorf("text %q", text)
		}
		how.Region = "eu-west-1"
		serveSigned(t, a, protocol, how, "/", nil).OK(t)
	})
}

// If the headers are refused, no memory is used for the body. The body is read and discarded nevertheless,
// because callers read the response only after sending it.
func TestAPIRefusedBeforeTheBody(t *testing.T) {
	a := newAPI(t, withKeys())
	for _, c := range []struct {
		operation    string
		size, length int64
		status       int
		code         string
	}{
		{"CreateScript", bodyScriptMax, bodyScriptMax, http.StatusBadRequest, missingToken},
		{"CreateScript", bodyScriptMax + 1, bodyScriptMax + 1, http.StatusRequestEntityTooLarge, entityTooLarge},
		{"ListFleets", bodyMax + 1, -1, http.StatusRequestEntityTooLarge, entityTooLarge}, // chunked
	} {
		r := newRequest("json", awswiretest.Base+"/", c.operation, nil)
		if c.code == entityTooLarge {
			awswiretest.SignedBy(testKey).Sign(r, nil)
		}
		body := &io.LimitedReader{R: zeros{}, N: c.size}
		r.Body, r.ContentLength = io.NopCloser(body), c.length
		w := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		decoded(t, "json", w.Code, w.Header(), w.Body.Bytes()).Want(t, c.status, c.code)
		if grown := after.TotalAlloc - before.TotalAlloc; body.N != 0 || c.length > 0 && grown > 1<<20 {
			t.Errorf("%+v: %d bytes are not read, %d allocated", c, body.N, grown)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestNewSigV4RefusesMistakes(t *testing.T) {
	good := Key{ID: testKey, Secret: testSecret}
	for name, o := range map[string]SigV4Options{
		"no keys":       {Regions: []string{"r"}},
		"no regions":    {Keys: []Key{good}},
		"skew":          {Keys: []Key{good}, Regions: []string{"r"}, Skew: -1},
		"twice":         {Keys: []Key{good, good}, Regions: []string{"r"}},
		"id":            {Keys: []Key{{ID: "a/b", Secret: testSecret}}, Regions: []string{"r"}},
		"secret":        {Keys: []Key{{ID: testKey, Secret: "short-secret"}}, Regions: []string{"r"}},
		"rate":          {Keys: []Key{{ID: testKey, Secret: testSecret, Rate: -1}}, Regions: []string{"r"}},
		"burst":         {Keys: []Key{{ID: testKey, Secret: testSecret, Rate: 1}}, Regions: []string{"r"}},
		"allow":         {Keys: []Key{{ID: testKey, Secret: testSecret, Allow: []string{"Describe*"}}}, Regions: []string{"r"}},
		"allow nothing": {Keys: []Key{{ID: testKey, Secret: testSecret, Allow: []string{"gamelift:Nothing*"}}}, Regions: []string{"r"}},
		"allow classes": {Keys: []Key{{ID: testKey, Secret: testSecret, Allow: []string{"gamelift:[A-Z]*"}}}, Regions: []string{"r"}},
	} {
		if _, err := NewSigV4(o); err == nil || strings.Contains(err.Error(), testSecret) || strings.Contains(err.Error(), "short-secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Requests signed by AWS's code must pass our verification, whatever they contain.
func FuzzSigV4Request(f *testing.F) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	v, err := NewSigV4(SigV4Options{Keys: []Key{{ID: testKey, Secret: testSecret}}, Regions: []string{awswiretest.Region}, Now: func() time.Time { return at }})
	if err != nil {
		f.Fatal(err)
	}
	const valid = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260301/us-east-1/gamelift/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature="
	f.Add("", "20260301T120000Z", "/", "", "name", "value", []byte(`{}`))
	f.Add(valid+strings.Repeat("0", 64), "20260301T120000Z", "/p/service/GameLift/operation/ListFleets", "", "X-Amz-Meta", " a  b ", []byte(`{}`))
	f.Add("AWS4-HMAC-SHA256 Credential=////aws4_request,SignedHeaders=;,Signature=", "20260301T120000.5Z", "/%2f/ä b", "b=1&a=%20+&a", "Accept", "x\ty", []byte{0xa0})
	f.Add(valid, "", "//a/../b", "x=;", "Content-Type", "", []byte{})
	f.Fuzz(func(t *testing.T, authorization, date, path, query, name, value string, body []byte) {
		u := &url.URL{Scheme: "http", Host: "host.example", Path: "/" + strings.TrimPrefix(path, "/"), RawQuery: query}
		newOne := func() *http.Request {
			r := &http.Request{
				Method: http.MethodPost, URL: u, Host: u.Host, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
				Header: http.Header{"X-Amz-Target": {"GameLift.ListFleets"}},
			}
			if authorization != "" {
				r.Header.Set("Authorization", authorization)
			}
			if date != "" {
				r.Header.Set("X-Amz-Date", date)
			}
			return r
		}
		// With an arbitrary Authorization header, verification fails with a known code and without a panic.
		caller, err := verify(v, newOne(), body)
		if err == nil {
			t.Fatalf("let through as %v", caller)
		}
		known := map[string]bool{missingToken: true, incomplete: true, unrecognizedClient: true, invalidSignature: true}
		if f, ok := errors.AsType[*Fault](err); !ok || !known[f.Code] || f.Text == "" {
			t.Fatalf("got %v", f)
		}
		// A signed request passes.
		r := newOne()
		r.Header.Del("Authorization")
		if plainHeader(name, value) {
			r.Header.Set(name, value)
		}
		if _, err := url.ParseQuery(query); err != nil {
			u.RawQuery = ""
		}
		how := awswiretest.SignedBy(testKey)
		how.At = at
		how.Sign(r, body)
		if _, err := verify(v, r, body); err != nil {
			t.Fatalf("signed %v, refused: %v", r, err)
		}
		if _, err := verify(v, r, append(body, 0)); err == nil {
			t.Fatal("another body was let through")
		}
	})
}

// plainHeader reports whether neither the signer nor the server treats this header specially.
func plainHeader(name, value string) bool {
	for _, taken := range []string{"Authorization", "Host", "X-Amz-Date", "X-Amz-Target", "X-Amz-Content-Sha256", "X-Amz-Security-Token", "Content-Length", "Transfer-Encoding",
		"User-Agent", "Expect", "Trailer", "X-Amzn-Trace-Id", "Smithy-Protocol"} {
		if strings.EqualFold(name, taken) {
			return false
		}
	}
	if url.QueryEscape(name) != name {
		return false
	}
	for _, c := range []byte(value) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return name != ""
}

func verify(v *SigV4, r *http.Request, body []byte) (Caller, error) {
	proof, err := v.Authenticate(r)
	if err != nil {
		return Caller{}, err
	}
	return proof(body)
}

func TestKeysAreMadeFresh(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		id, secret := NewKey()
		k := Key{ID: id, Secret: secret}
		if err := k.Validate(nil); err != nil || len(id) != 20 || len(secret) != 40 || seen[id] || seen[secret] {
			t.Fatalf("%s: %v", fmt.Sprint(len(id), len(secret)), err)
		}
		seen[id], seen[secret] = true, true
	}
}
