package awswire

import (
	"context"
	"net/http"
	"path"
)

// PrefixHeader is what a proxy sets that takes a part of the path away before it passes a request on.
const PrefixHeader = "X-Forwarded-Prefix"

const prefixMax = 256 // bounds it, in bytes

type prefixKey struct{}

// WithPrefix returns a request that knows which part of its path a proxy has taken away, as its header says: callers have signed the whole
// path. It is for requests of proxies that are believed. A header that is no clean path is ignored.
func WithPrefix(r *http.Request) *http.Request {
	prefix := r.Header.Get(PrefixHeader)
	if prefix == "" || prefix == "/" || len(prefix) > prefixMax || prefix[0] != '/' || path.Clean(prefix) != prefix {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), prefixKey{}, prefix))
}

// Prefix returns that part, such as /troupe; "" if there is none.
func Prefix(r *http.Request) string {
	prefix, _ := r.Context().Value(prefixKey{}).(string)
	return prefix
}
