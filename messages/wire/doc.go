// Package wire encodes and decodes the Realtime protocol: units, packets, op codes and limits. It converts received
// bytes to a [Header] and outgoing messages to a [Frame]. It does not know connections, players or actors.
//
// # Units and packets
//
// All data is sent in units, both on WebSockets and in datagrams:
//
//	unit   = length packet
//	length = base-128 varint, at most 5 bytes
//	packet = one protobuf Packet (packet.proto)
//
// # Ownership
//
// Decoding copies no bytes. A Header's slices point into the input, and the owner of the input decides how long they
// remain valid. The strings in login and identity messages are copies. A Frame owns its bytes, is immutable once built,
// and counts its references. Each constructor and each Retain returns one reference, which must be released once.
//
// # The codec
//
// The codec is written by hand. It is several times faster than generated code and does not allocate memory. Tests and
// fuzz tests compare it with protobuf's decoder for packet.proto. Where protobuf leaves a choice, both make the same
// choice: a known field with a wrong wire type counts as an unknown field, the last value of a repeated scalar wins,
// and consecutive copies of one oneof member are merged. There is one deliberate difference: unknown groups may be
// nested at most [GroupDepthMax] deep.
//
// # What it does not do
//
// The package does not route, check senders, count sequence numbers or enforce the limits that it defines. The layers
// above do that.
package wire
