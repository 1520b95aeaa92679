// Package pb is the generated form of packet.proto. The tests of package wire compare the
// hand-written codec with it, and the host does not use it. To change it, change packet.proto and run go generate in
// package wire.
package pb
