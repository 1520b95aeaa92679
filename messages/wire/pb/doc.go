// Package pb is the generated form of packet.proto. Text messages use it, and
// the tests of package wire compare the hand-written codec with it; the message
// path does not use it. To change it, change packet.proto and run go generate in
// package wire.
package pb
