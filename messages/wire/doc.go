// Package wire is the bytes of the Realtime protocol: units, packets, op codes
// and limits. It turns received bytes into a [Header] and outgoing messages into
// a [Frame], and it knows nothing of connections, players or actors.
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
// are copies. A Frame owns its bytes, is immutable once built, and lives as long
// as somebody holds a reference; whoever got it from a constructor or from
// Retain must Release it once.
//
// # Two codecs
//
// Package pb holds the generated code. The message path uses the hand-written
// codec here, which is several times cheaper and does not allocate; fuzz tests
// hold the two to the same answers. Where a decoder may choose, the choice is
// the generated one's: a known field with a foreign wire type is an unknown
// field, the last value of a repeated scalar counts, and a member of the oneof
// that comes several times in a row is merged. One difference is deliberate:
// unknown groups nest at most [GroupDepthMax] deep here.
//
// # What it does not do
//
// It does not route, check senders, count sequences or enforce payload limits;
// it names the limits, and the layers that know the direction apply them.
package wire

//go:generate go run ./internal/gen -proto packet.proto -out pb
