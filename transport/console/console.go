package console

import (
	"context"
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

// Events gives access to the recent events of the host (service-api.md 5).
type Events interface {
	// Since returns stored events from number n on, as JSON, and the number that follows them. The channel
	// more is closed when there are further events. If more is nil, there will be none.
	Since(n uint64) (events [][]byte, next uint64, more <-chan struct{})
	// Watch says that somebody reads the events, until leave is called. In a cluster, the events of the other nodes
	// come only then.
	Watch() (leave func())
}

// Options configures a Console. Every field is required unless its comment says otherwise.
type Options struct {
	Backend    messages.Doer
	Cluster    Cluster // nil: the host has no cluster
	Counters   *counters.Set
	Events     Events
	Drains     ops.Drainer
	Access     Access
	Operations Operations // the operator's actions on the host
	Log        zerolog.Logger
	Version    string
	// Logs opens the log of a game session with shortened player session ids. If bytes is 0, it returns the
	// complete log, otherwise the lines in its last bytes. whole reports whether these are all lines. The
	// error is fs.ErrNotExist if there is no log.
	Logs func(ctx context.Context, id messages.GameSessionID, bytes int64) (log io.ReadCloser, whole bool, err error)
	// GameURLs returns the addresses that players' browsers connect to: ws://, then wss://. It leaves out
	// listeners that are off.
	GameURLs func() []string
}

// Console serves the pages and /admin/v1/. It is safe for concurrent use.
type Console struct {
	o       Options
	began   time.Time
	logins  *logins
	samples sampler
	hub     hub
	crowd   crowd
	routes  map[string]map[string]route // path -> method -> route
	assets  http.Handler

	profiling chan struct{} // mutex held while a profile is taken
	closing   chan struct{} // closed by Close
	closed    sync.Once
}

//go:embed assets openapi.yaml
var files embed.FS

// prefix is the path prefix of the JSON API. assetPrefix is the path prefix of the pages' scripts and styles.
const (
	prefix      = "/admin/v1/"
	assetPrefix = "/console/"
	// IconPath is the path of the pages' icon.
	IconPath = assetPrefix + "icon.svg"
)

// New returns a Console. Call Close to end its event streams.
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

// Close ends all event streams, and the profile that is being taken, if any. It is idempotent.
func (c *Console) Close() {
	c.closed.Do(func() { close(c.closing) })
	c.hub.close()
}

// EndLogins ends all logins and event streams. Clients that are still allowed connect again. Call it when the
// access keys change.
func (c *Console) EndLogins() {
	c.logins.endAll()
	c.hub.cutAll()
}

// Mux returns a handler that serves the console. It passes all other requests to next.
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

// policy allows pages to load scripts, styles and data from this address only, and forbids to show them in a
// frame.
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

// page serves the only HTML document, whose scripts draw all pages. The document contains no data of the
// host, so it needs no login.
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
		http.NotFound(w, r) // do not list the files of a folder
	default:
		c.assets.ServeHTTP(w, r)
	}
}
