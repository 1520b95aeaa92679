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
// Decoding copies nothing: the slices of a Header point into the input, whose
// owner decides how long they live. Strings of the login and identity messages
// are copies. A Frame owns its bytes, is immutable once built, and counts its
// references: each constructor and each Retain returns one, which must be
// released once.
//
// # The codec
//
// The codec is written by hand: it is several times cheaper than generated code and does not
// allocate. Tests and fuzz tests compare it with protobuf's own, which reads packet.proto. Where
// protobuf leaves a choice to the decoder, both choose the same: a known field with a wrong wire
// type is an unknown field, the last value of a repeated scalar wins, and consecutive copies of one
// oneof member are merged. One difference is deliberate: unknown groups nest at most
// [GroupDepthMax] deep here.
//
// # What it does not do
//
// It does not route, check senders, count sequences or enforce payload limits.
// It only defines the limits; the layers above enforce them.
package wire
