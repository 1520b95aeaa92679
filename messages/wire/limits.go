package wire

// Limits of the protocol, in bytes unless the name says otherwise (realtime.md 13); defaults of the layers that enforce them.
const (
	// UnitMax is the largest inbound WebSocket message, length included; a larger one closes the connection
	// with 1009. It is many times a login with PayloadMax: only broken or hostile clients exceed it.
	UnitMax = 65536 // D-114

	// ServerUnitMax is the largest packet that SplitUnit accepts, for our own client: a payload of ScriptPayloadMax
	// or a membership list of some hundred thousand players fits. A server must bound its input by UnitMax before.
	ServerUnitMax = 1 << 20

	// PayloadMax is the largest payload of a client message or login, without overhead. Official clients send no more, so more is dropped.
	PayloadMax = 4096 // D-114, D-133

	// FastPayloadMax is the largest payload on the fast channel: a datagram fits a 1280-byte MTU. Larger ones go by WebSocket, both ways.
	FastPayloadMax = 1200

	// ScriptPayloadWarn is the payload size above which a script's message gets a warning: clients cannot send so much.
	ScriptPayloadWarn = PayloadMax

	// ScriptPayloadMax is the largest payload a script may send to clients.
	ScriptPayloadMax = 65536

	// LengthVarintMax is a unit's longest length varint, in bytes: enough for 32 bits.
	LengthVarintMax = 5

	// VarintMax is the longest varint in a packet, in bytes: enough for 64 bits. A negative int32 takes all.
	VarintMax = 10

	// GroupDepthMax is how deep unknown protobuf groups may nest, which protobuf demands to skip: 100
	// as in the other decoders. Go's 10000 lets a 20 KiB packet grow a reader's stack to megabytes.
	GroupDepthMax = 100

	// ClientVersion is the protocol version official clients send in LOGIN.
	ClientVersion = 2
)

// overheadMax bounds a unit's bytes beside its payload, without inner message: 5
// length, 6 op code, 4 times 11 for int32 fields, 2 reliable, 6 payload tag and length.
const overheadMax = 63
