package host

import (
	"net/http"
	"net/url"

	"troupe/transport/client/js"
)

// webPages adds to the service API what web pages need: the client for browsers at
// /client.js, and in development seats at /dev/join.
func (h *Host) webPages(c *Config, g guard, dev bool, next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /client.js", js.Handler())
	if dev {
		join := newDevJoin(h.system, c, g)
		mux.HandleFunc("POST "+devJoinPath, join.serve)
		mux.HandleFunc("OPTIONS "+devJoinPath, join.preflight)
	}
	mux.Handle("/", next)
	return mux
}

// isLoopbackOrigin reports whether the Origin of a request is a page that this machine serves.
// A page from a file has the origin "null", as has any page in a sandbox: it is none.
func isLoopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && isLoopbackName(u.Host)
}
