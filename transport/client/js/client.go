package js

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the bundle
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed dist/client.js
var bundle []byte

// Handler serves the bundle as a public file that pages of any origin may import. Browsers ask on each use whether the
// file has changed, so no page runs the client of an older host. The handler is safe for concurrent use.
func Handler() http.Handler {
	sum := sha256.Sum256(bundle)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		h.Set("Cache-Control", "public, no-cache")
		h.Set("ETag", tag)
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(bundle))
	})
}
