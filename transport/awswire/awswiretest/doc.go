// Package awswiretest calls a service of package awswire from its tests: requests in both
// protocols written by hand, responses decoded to plain values, and signatures by AWS's own
// code. It knows a handler and no more, so that the same helpers serve the tests of the wire
// and those of the operations.
package awswiretest
