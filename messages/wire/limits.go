package wire

// Limits of the protocol, in bytes unless the name says otherwise (realtime.md
// 13). They are the defaults of the layers that enforce them.
const (
	// UnitMax is the largest inbound WebSocket message of a client, length
	// included; a larger one closes the connection with 1009. It is many
	// times the size of a login with a payload of PayloadMax, so only broken or
	// hostile clients exceed it.
	UnitMax = 65536 // D-114

	// ServerUnitMax is the largest packet that SplitUnit accepts. It bounds the
	// packets that our own client accepts from a server: a script payload of
	// ScriptPayloadMax or a membership list of some hundred thousand players fits.
	// A server must bound its input by UnitMax before.
	ServerUnitMax = 1 << 20

	// PayloadMax is the largest payload of a client message. Official clients
	// refuse to send more, so more is dropped; login payloads count too.
	// Packet overhead does not count.
	PayloadMax = 4096 // D-114, D-133

	// FastPayloadMax is the largest payload on the fast channel, chosen by the
	// official client so that a datagram fits a 1280-byte MTU; larger payloads
	// go by WebSocket in both directions.
	FastPayloadMax = 1200

	// ScriptPayloadWarn is the payload size above which a script's message is
	// logged as a warning: clients cannot send payloads of that size themselves.
	ScriptPayloadWarn = PayloadMax

	// ScriptPayloadMax is the largest payload a script may send to clients.
	ScriptPayloadMax = 65536

	// LengthVarintMax is the longest length varint of a unit, in bytes: enough for
	// a 32-bit length.
	LengthVarintMax = 5

	// VarintMax is the longest varint inside a packet, in bytes: enough for 64
	// bits. A negative int32 takes all ten.
	VarintMax = 10

	// GroupDepthMax is how deep unknown protobuf groups may nest. No packet has
	// groups, but protobuf demands that unknown ones are skipped; 100 is the
	// nesting limit of the other protobuf decoders. That of Go
	// allows 10000, with which a 20 KiB packet grows a reader's stack to megabytes.
	GroupDepthMax = 100

	// ClientVersion is the protocol version official clients send in LOGIN.
	ClientVersion = 2
)

// overheadMax bounds the bytes of a unit without inner message beside its
// payload: 5 length, 6 op code, 4 times 11 for the int32 fields, 2 reliable, 6
// payload tag and length.
const overheadMax = 63
