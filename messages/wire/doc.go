// Package wire encodes and decodes the Realtime protocol: units, packets, op
// codes and limits. It turns received bytes into a [Header] and outgoing messages
// into a [Frame]. It does not know connections, players or actors.
//
// # Units and packets
//
// Everything travels as units, on WebSocket as in datagrams:
//
//	unit   = length packet
//	length = base-128 varint, at most 5 bytes
//	packet = one protobuf Packet (packet.proto)
//
// # Ownership
//
// Decoding copies nothing: a Header's slices point into the input, whose owner decides how long they
// live; the strings of login and identity messages are copies. A Frame owns its bytes, is immutable once
// built, and counts its references: each constructor and each Retain returns one, to be released once.
//
// # The codec
//
// The codec is written by hand, several times cheaper than generated code, without allocations; tests and fuzz tests
// compare it with protobuf's, which reads packet.proto. Where protobuf leaves a choice, both choose the same: a known
// field with a wrong wire type is an unknown field, the last value of a repeated scalar wins, consecutive copies of
// one oneof member are merged. One difference is deliberate: unknown groups nest at most [GroupDepthMax] deep.
//
// # What it does not do
//
// It does not route, check senders, count sequences or enforce the limits that it defines: the layers above do.
package wire
