// Package awswiretest calls a service of package awswire in tests. It writes requests in both protocols,
// decodes responses to plain values, and signs with AWS's own code. It depends on an http.Handler only, so
// the same helpers serve the tests of the wire and those of the operations.
package awswiretest
