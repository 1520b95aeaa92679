// Package transporttest is the conformance suite of the transports: what
// transport.Conn, transport.Handler and transport.Acceptor promise, as named
// tests that every transport runs from a conformance_test.go of its own. [Run] runs
// them over an in-memory network in virtual time, without loss and with 1, 5 and
// 20 % of it, reordering and duplication. [RunDatagrams] is the same for channels
// that may lose.
//
// # Who owns what
//
// A transport brings a [Transport]: how to start its host side and how to dial it
// with a client that answers pings and obeys its inbox. The suite owns the network
// (package memnet), the handlers, the sources and the checks. Whatever happens,
// the handlers check on every connection that calls come one at a time and that
// OnClosed is the last.
//
// # A suite that can fail
//
// Checks report through [TB], which a test of this package replaces by a recorder:
// a small transport of its own is broken in one way after the other, and each
// defect must be found by the check that is meant for it.
//
// # What it does not do
//
// It does not test a transport's wire format, its handshake or what hostile bytes
// do to a parser beyond "others are unharmed": those belong to the transport's own
// tests and fuzz targets. It measures no speed.
package transporttest
