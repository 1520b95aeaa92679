package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"
)

const devPagePath = "/game/"

// devPage serves a game's page in development, to this machine only, like devJoin. Pages of other sites must
// not be able to read it.
type devPage struct {
	guard  guard
	folder string
}

// checkPage returns an error if the folder cannot be served as a game's page.
func checkPage(o *Options) error {
	if o.Page == "" {
		return nil
	}
	if !o.Dev {
		return errors.New("host: a game's page is served in development only")
	}
	info, err := os.Stat(o.Page)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", o.Page)
	}
	if err != nil {
		return fmt.Errorf("host: page: %w", err)
	}
	return nil
}

// contentTypes replaces the content types of the system. Some systems declare JavaScript as plain text, and
// browsers refuse to run that.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json",
	".webmanifest": "application/manifest+json", ".wasm": "application/wasm", ".xml": "text/xml; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon",
	".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".wav": "audio/wav", ".m4a": "audio/mp4", ".flac": "audio/flac", ".mp4": "video/mp4", ".webm": "video/webm",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf", ".gltf": "model/gltf+json", ".glb": "model/gltf-binary",
}

func (p *devPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store") // a reload must show the saved files
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin") // pages of other sites cannot embed it
	origin := r.Header.Get("Origin")
	switch {
	case !p.guard.trusts(r) || origin != "" && !isLoopbackOrigin(origin):
		http.Error(w, "the page of a game in development is for browsers on this machine, by localhost or a loopback address", http.StatusForbidden)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the page of a game takes GET only", http.StatusMethodNotAllowed)
		return
	}
	p.file(w, r, strings.TrimPrefix(r.URL.Path, devPagePath))
}

// file serves one file of the folder. os.Root confines it to the folder, also when it follows links.
func (p *devPage) file(w http.ResponseWriter, r *http.Request, name string) {
	root, err := os.OpenRoot(p.folder)
	if err != nil {
		http.Error(w, "the folder of the page cannot be read: "+err.Error(), http.StatusNotFound)
		return
	}
	defer root.Close()
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	info, err := root.Stat(name)
	switch {
	case err == nil && info.IsDir() && servable(name):
		http.Redirect(w, r, (&url.URL{Path: path.Base(name) + "/"}).String(), http.StatusFound)
		return
	// checked before opening, because opening a pipe waits for its writer
	case err != nil || !info.Mode().IsRegular() || !servable(name):
		http.Error(w, "the page's folder has no file "+name+" that is served: hidden files, and links that lead out of it, are not", http.StatusNotFound)
		return
	}
	f, err := root.Open(name)
	if err != nil {
		http.Error(w, "the file "+name+" cannot be read: "+err.Error(), http.StatusForbidden)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", cmp.Or(contentTypes[strings.ToLower(path.Ext(name))], "application/octet-stream"))
	http.ServeContent(w, r, "", time.Time{}, f)
}

// servable reports whether name is a path inside the folder without a hidden part, such as .git or .env.
func servable(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsAny(name, "\\:\x00") && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.")
}
