// Package transporttest is the conformance suite of the transports. It has a named test for each guarantee of
// transport.Conn, transport.Handler and transport.Acceptor. Every transport runs them from its own
// conformance_test.go. [Run] uses an in-memory network in virtual time, first without loss, then with a loss
// of 1, 5 and 20 % and with reordering and duplication. [RunDatagrams] does the same for unreliable channels.
//
// # Ownership
//
// A transport implements [Transport]: it starts its host side and dials it with a client that answers pings
// and passes messages to its inbox. The suite owns the network (package memnet), the handlers, the sources
// and the checks. In every test, the handlers also check that the calls for a connection are never concurrent
// and that OnClosed is the last.
//
// # A suite that can fail
//
// Checks report failures through [TB]. The tests of this package replace TB by a recorder. They then break a
// small reference transport in one way after the other, and verify that the intended check detects each
// defect.
//
// # Limits
//
// The suite does not test a transport's wire format or its handshake. Of hostile bytes, it only tests that
// they do not harm other connections. A transport's own tests and fuzz targets test the rest. The suite
// measures no performance.
package transporttest
