package modules

import (
	"net/url"
	"strings"

	"github.com/dop251/goja"
)

// urlPorts maps the schemes whose URLs have a host to their default ports.
var urlPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": ""}

var formEscapes = strings.NewReplacer("~", "%7E", "%2A", "*")

func urlBinding(l *Loader) map[string]any {
	r := l.runtime
	return map[string]any{
		// parse returns the parts of a URL, which may be relative to the base URL in the second argument. It
		// returns undefined for an invalid URL.
		"parse": native(func(c goja.FunctionCall) goja.Value {
			var base *url.URL
			if b := c.Argument(1); !goja.IsUndefined(b) {
				if base = parseURL(b.String(), nil); base == nil {
					return goja.Undefined()
				}
			}
			u := parseURL(c.Argument(0).String(), base)
			if u == nil {
				return goja.Undefined()
			}
			o := r.NewObject()
			for _, part := range urlParts(u) {
				must(o.Set(part[0], part[1]))
			}
			return o
		}),
		"escape": native(func(c goja.FunctionCall) goja.Value {
			return r.ToValue(formEscapes.Replace(url.QueryEscape(c.Argument(0).String())))
		}),
		"unescape": native(func(c goja.FunctionCall) goja.Value {
			s := c.Argument(0).String()
			if plain, err := url.QueryUnescape(s); err == nil {
				return r.ToValue(strings.ToValidUTF8(plain, "\ufffd"))
			}
			return r.ToValue(strings.ReplaceAll(s, "+", " "))
		}),
	}
}

// parseURL returns nil if the result is not a valid absolute URL.
func parseURL(text string, base *url.URL) *url.URL {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil
	}
	if base == nil {
		base = new(url.URL)
	}
	u = base.ResolveReference(u) // it also resolves . and ..
	_, special := urlPorts[u.Scheme]
	if u.Scheme == "" || special && (u.Opaque != "" || u.Hostname() == "" && u.Scheme != "file") {
		return nil
	}
	if special && u.Path == "" {
		u.Path = "/"
	}
	return u
}

// urlParts returns the parts of a URL, each as the name of a property and its value.
func urlParts(u *url.URL) [][2]string {
	port, path, search, hash := u.Port(), u.EscapedPath(), "", ""
	if port == urlPorts[u.Scheme] {
		port = ""
	}
	if u.Opaque != "" {
		path = u.Opaque
	}
	if u.RawQuery != "" {
		search = "?" + u.RawQuery
	}
	if u.Fragment != "" {
		hash = "#" + u.EscapedFragment()
	}
	username, password := "", ""
	if u.User != nil {
		secret, _ := u.User.Password()
		username, password = url.User(u.User.Username()).String(), url.User(secret).String()
	}
	hostname := strings.ToLower(u.Hostname())
	if strings.Contains(hostname, ":") {
		hostname = "[" + hostname + "]"
	}
	return [][2]string{
		{"protocol", u.Scheme + ":"}, {"username", username}, {"password", password}, {"hostname", hostname}, {"port", port},
		{"pathname", path}, {"search", search}, {"hash", hash},
	}
}
