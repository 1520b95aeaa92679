package host

import (
	"net/http"
	"net/url"

	"troupe/messages"
	"troupe/transport/client/js"
	"troupe/transport/console"
)

// webPages adds pages to the service API: the browser client (/client.js) and, in development, player
// sessions (/dev/join) and the game's page (/game/).
func (h *Host) webPages(o *Options, g guard, next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /client.js", js.Handler())
	// browsers request it on pages without an icon
	mux.Handle("GET /favicon.ico", http.RedirectHandler(console.IconPath, http.StatusMovedPermanently))
	if o.Dev {
		fleet := &o.Config.Fleets[0]
		join := &devJoin{
			system: h.system, guard: g, fleet: messages.FleetID(fleet.ID), secure: fleet.Certificates == certificatesGenerated,
			turn: make(chan struct{}, 1),
		}
		if len(h.gameURLs) > 1 {
			join.url = h.gameURLs[1]
		}
		mux.HandleFunc("POST "+devJoinPath, join.serve)
		mux.HandleFunc("OPTIONS "+devJoinPath, join.preflight)
		if o.Page != "" {
			mux.Handle(devPagePath, &devPage{guard: g, folder: o.Page})
		}
	}
	mux.Handle("/", next)
	return mux
}

// isLoopbackOrigin reports whether the Origin of a request is a page that this machine serves. A page from a
// file has the origin "null", which is not accepted.
func isLoopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && isLoopbackName(u.Host)
}
