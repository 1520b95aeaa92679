package awswire

import (
	"context"
	"net/http"
	"path"
)

// PrefixHeader is set by a proxy that removes a prefix from the path before it forwards a request.
const PrefixHeader = "X-Forwarded-Prefix"

const prefixMax = 256 // maximum length of the header, in bytes

type prefixKey struct{}

// WithPrefix returns a request that carries the path prefix from its PrefixHeader. Callers have signed the
// whole path, so verification needs the prefix. Use it for requests of trusted proxies only. A header that is
// not a clean absolute path is ignored.
func WithPrefix(r *http.Request) *http.Request {
	prefix := r.Header.Get(PrefixHeader)
	if prefix == "" || prefix == "/" || len(prefix) > prefixMax || prefix[0] != '/' || path.Clean(prefix) != prefix {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), prefixKey{}, prefix))
}

// Prefix returns the path prefix that a proxy has removed, such as /troupe, or "" if there is none.
func Prefix(r *http.Request) string {
	prefix, _ := r.Context().Value(prefixKey{}).(string)
	return prefix
}
