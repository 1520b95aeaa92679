package console

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"troupe/transport"
	"troupe/transport/awswire"
)

// Access defines who may use the console. Its functions must be safe for concurrent use.
type Access struct {
	Trusts func(r *http.Request) bool // reports whether a request comes from this machine and needs no key
	// Signed verifies the signature of a request without a body. It returns the id and the role of the key.
	// With Nobody, wrong is the reason, and id is set only if the key was recognized.
	Signed func(r *http.Request) (id string, role Role, wrong string)
	// Verify returns the role of an access key, or Nobody if there is no such key with this secret and token.
	// Nil disables logins.
	Verify  func(id, secret, sessionToken string) Role
	Refusal string            // text that says who may use the console; if logins are enabled, it follows "log in, or "
	Proxies transport.Proxies // trusted proxies, whose X-Forwarded-For header names the client
}

// Role says what a caller may do in the console.
type Role uint8

// Roles, in increasing order of rights.
const (
	Nobody   Role = iota // may do nothing
	Reader               // may only read
	Operator             // may read and act
)

// String returns the name of the role in the API.
func (r Role) String() string {
	return [...]string{"nobody", "reader", "operator"}[min(r, Operator)]
}

// caller is the sender of an allowed request.
type caller struct {
	name    string // access key, or a description such as "this machine"
	role    Role
	csrf    string      // token that a browser must send with an action; empty for callers that are not browsers
	expires time.Time   // when the login expires; zero means never
	still   func() bool // reports whether the login still exists; nil for a caller without a login
	// reported says that another node has passed the request on, and reports the action
	reported bool
}

// stays reports whether a caller with a long-running request may continue to read.
func (who caller) stays() bool { return who.still == nil || who.still() }

const (
	// cookieName is the name of the login cookie without TLS. Browsers send this cookie to every port of the
	// host name, for paths below the API's.
	cookieName = "troupe_console"
	// cookieNameTLS is the name of the login cookie with TLS. Because of its prefix, browsers accept it only
	// from this host name and only over TLS.
	cookieNameTLS = "__Host-" + cookieName
	csrfHeader    = "X-CSRF-Token"
)

// machine is the CSRF token of callers on this machine. It is valid as long as this process runs.
var machine = newToken()

func newToken() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// sameSite reports whether a request does not come from a page of another site. It cannot detect DNS
// rebinding; Access.Trusts does.
func sameSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func (c *Console) identify(r *http.Request) (caller, *problem) {
	a := &c.o.Access
	if !sameSite(r) {
		return caller{}, refusal(http.StatusForbidden, "CrossOrigin", "other web pages may not call this")
	}
	if cookie, err := loginCookie(r); err == nil && a.Verify != nil {
		if who, ok := c.logins.find(cookie.Value); ok {
			who.still = func() bool { _, ok := c.logins.find(cookie.Value); return ok }
			return who, nil
		}
	}
	switch {
	case a.Trusts(r):
		return caller{name: "this machine", role: Operator, csrf: machine}, nil
	case r.Header.Get("Authorization") != "":
		id, role, wrong := a.Signed(r)
		if role != Nobody {
			return caller{name: id, role: role}, nil
		}
		switch {
		case a.Verify == nil:
		case id != "": // the key is valid, but has no role here
			return caller{}, refusal(http.StatusForbidden, "Forbidden", wrong)
		default:
			return caller{}, refusal(http.StatusUnauthorized, "WrongKey", wrong)
		}
	}
	if a.Verify == nil {
		return caller{}, refusal(http.StatusForbidden, "Forbidden", a.Refusal)
	}
	return caller{}, refusal(http.StatusUnauthorized, "LoginNeeded", "log in, or "+a.Refusal)
}

// mayAct checks the caller's role if the action changes something. It also checks the CSRF token, which only
// a page of this console can have read.
func (who caller) mayAct(r *http.Request, changes bool) *problem {
	if changes && who.role < Operator {
		return refusal(http.StatusForbidden, "ReadOnly", "this access key may look, and not act: an operator's may call every operation")
	}
	if who.csrf == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get(csrfHeader)), []byte(who.csrf)) == 1 {
		return nil
	}
	return refusal(http.StatusForbidden, "TokenNeeded", "an action needs the header "+csrfHeader+" with the csrfToken of "+prefix+"me")
}

const loginBytesMax = 4 << 10 // maximum bytes of a login's body

type loginRequest struct {
	AccessKeyID  string `json:"accessKeyId"`
	Secret       string `json:"secret"`
	SessionToken string `json:"sessionToken"`
}

// login handles POST /admin/v1/login. It is the only request that has a body, and the only one that needs no
// login.
func (c *Console) login(w http.ResponseWriter, r *http.Request, _ query) *problem {
	if !sameSite(r) {
		return refusal(http.StatusForbidden, "CrossOrigin", "other web pages may not call this")
	}
	if c.o.Access.Verify == nil {
		return refusal(http.StatusNotFound, "NoLogin", "this host has no access keys: "+c.o.Access.Refusal)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refusal(http.StatusUnsupportedMediaType, "BadRequest", "Content-Type must be application/json")
	}
	var in loginRequest
	body := json.NewDecoder(io.LimitReader(r.Body, loginBytesMax))
	body.DisallowUnknownFields()
	if err := body.Decode(&in); err != nil || in.AccessKeyID == "" || in.Secret == "" {
		return refusal(http.StatusBadRequest, "BadRequest", "the body must be a JSON object with accessKeyId and secret, and sessionToken if the key has one")
	}
	from := sourceOf(r, c.o.Access.Proxies)
	if wait := c.logins.attempt(from); wait > 0 {
		w.Header().Set("Retry-After", seconds(wait))
		return refusal(http.StatusTooManyRequests, "TooManyLogins", "too many logins: wait "+seconds(wait)+" s")
	}
	role := c.o.Access.Verify(in.AccessKeyID, in.Secret, in.SessionToken)
	if role == Nobody {
		c.o.Log.Warn().Str("remote", r.RemoteAddr).Msg("a login to the console has failed")
		return refusal(http.StatusUnauthorized, "WrongKey", "there is no such key with this secret that may call every operation, or every one that reads")
	}
	c.logins.right(from)
	id, who := c.logins.begin(in.AccessKeyID, role)
	setLogin(w, r, id, who.expires)
	c.o.Log.Info().Str("access_key", short(in.AccessKeyID)).Str("remote", r.RemoteAddr).Msg("logged in to the console")
	return answer(w, c.describe(who))
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request, _ query) *problem {
	if cookie, err := loginCookie(r); err == nil {
		c.logins.end(cookie.Value)
	}
	setLogin(w, r, "", time.Unix(0, 0))
	return answer(w, struct{}{})
}

// cameEncrypted reports whether a request came over TLS, to the host or to a proxy. A client may forge the
// header, but that only changes its own cookies.
func cameEncrypted(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

func loginCookie(r *http.Request) (*http.Cookie, error) {
	if cameEncrypted(r) {
		return r.Cookie(cookieNameTLS)
	}
	return r.Cookie(cookieName)
}

func setLogin(w http.ResponseWriter, r *http.Request, value string, expires time.Time) {
	c := http.Cookie{Name: cookieName, Value: value, Path: awswire.Prefix(r) + prefix, Expires: expires, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if cameEncrypted(r) {
		c.Name, c.Path, c.Secure = cookieNameTLS, "/", true // browsers require this path for the __Host- prefix
	}
	http.SetCookie(w, &c)
}

// short returns the beginning of an access key, for the log (reliability.md 6).
func short(key string) string {
	if strings.Contains(key, " ") { // a description such as "this machine", not a key
		return key
	}
	return key[:min(len(key), 8)]
}
