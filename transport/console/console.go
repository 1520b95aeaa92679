package console

import (
	"embed"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/ops"
)

// Events are the events of the host (service-api.md 5), kept for a while.
type Events interface {
	// Since returns some events from number n on as JSON, the number after them, and what is closed when there are more; nil: the end.
	Since(n uint64) (events [][]byte, next uint64, more <-chan struct{})
}

// Options configure a Console. All fields are needed unless they say otherwise.
type Options struct {
	Backend    messages.Doer
	Counters   *counters.Set
	Events     Events
	Drains     ops.Drainer
	Access     Access
	Operations Operations // what operators do to the host
	Log        zerolog.Logger
	Version    string
	// Logs opens the log of a game session, with player session ids shortened: all of it with 0, otherwise the lines in its last so many
	// bytes; whole: there are no others. The error is fs.ErrNotExist if there is none.
	Logs func(id messages.GameSessionID, bytes int64) (log io.ReadCloser, whole bool, err error)
	// GameURLs returns the addresses that players' browsers connect to, ws:// and then wss://, of the listeners that there are.
	GameURLs func() []string
}

// Console serves the pages and /admin/v1/. Safe for concurrent use.
type Console struct {
	o       Options
	began   time.Time
	logins  *logins
	samples sampler
	hub     hub
	crowd   crowd
	routes  map[string]map[string]route // by path and method
	assets  http.Handler

	profiling chan struct{} // held by who takes a profile
	closing   chan struct{} // closed by Close
	closed    sync.Once
}

//go:embed assets openapi.yaml
var files embed.FS

// prefix is that of the JSON API, assetPrefix that of scripts and styles of the pages.
const (
	prefix      = "/admin/v1/"
	assetPrefix = "/console/"
	// IconPath is where the icon of the pages is.
	IconPath = assetPrefix + "icon.svg"
)

// New returns a Console. Close ends what runs for its listeners.
func New(o Options) *Console {
	assets, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	c := &Console{o: o, began: time.Now(), logins: newLogins(), assets: http.StripPrefix(assetPrefix, http.FileServerFS(assets))}
	c.samples.turn, c.crowd.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	c.profiling, c.closing = make(chan struct{}, 1), make(chan struct{})
	c.hub.c = c
	c.routes = c.table()
	return c
}

// Close ends the streams of events and a profile that is being taken. It is idempotent.
func (c *Console) Close() {
	c.closed.Do(func() { close(c.closing) })
	c.hub.close()
}

// EndLogins ends all logins and streams of events, which connect again if they may. It is for a change of the access keys.
func (c *Console) EndLogins() {
	c.logins.endAll()
	c.hub.cutAll()
}

// Mux serves the console, and everything else from next.
func (c *Console) Mux(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/" && isRead(r.Method) && strings.Contains(r.Header.Get("Accept"), "text/html"):
			c.page(w, r)
		case strings.HasPrefix(path, assetPrefix):
			c.asset(w, r)
		case strings.HasPrefix(path, prefix):
			c.api(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// policy lets pages load scripts, styles and data from this address only, and be shown in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// page serves the only document: its scripts draw all pages. It shows nothing of the host, and asks for a login.
func (c *Console) page(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if c.o.Access.Verify == nil && !c.o.Access.Trusts(r) {
		http.Error(w, c.o.Access.Refusal, http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Security-Policy", c.pagePolicy())
	http.ServeFileFS(w, r, files, "assets/page.html")
}

func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	switch {
	case !isRead(r.Method):
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
	case c.o.Access.Verify == nil && !c.o.Access.Trusts(r):
		http.Error(w, c.o.Access.Refusal, http.StatusForbidden)
	case strings.HasSuffix(r.URL.Path, "/"):
		http.NotFound(w, r) // no list of files
	default:
		c.assets.ServeHTTP(w, r)
	}
}
