// Package pb is the generated form of packet.proto. It serves the cold paths
// (text messages) and is the yardstick the hand-written codec of package wire is
// tested against; the message path does not use it. Nothing here is written by
// hand: change packet.proto and run go generate in package wire.
package pb
