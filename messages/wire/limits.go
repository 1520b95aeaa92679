package wire

// Limits of the protocol (realtime.md 13), in bytes unless stated otherwise. They are the defaults of the layers that
// enforce them.
const (
	// UnitMax is the largest inbound WebSocket message, including the length. A larger message closes the connection
	// with 1009. The limit is many times the size of a login with PayloadMax, so only broken or hostile clients exceed
	// it.
	UnitMax = 65536 // D-114

	// ServerUnitMax is the largest packet that SplitUnit accepts. It is so large for the sake of our own client: a
	// payload of ScriptPayloadMax fits, and so does a membership list of some hundred thousand players. A server must
	// limit its input to UnitMax first.
	ServerUnitMax = 1 << 20

	// PayloadMax is the largest payload of a client message or login, without overhead. Official clients do not send
	// more, so larger payloads are dropped.
	PayloadMax = 4096 // D-114, D-133

	// FastPayloadMax is the largest payload on the fast channel, so that a datagram fits into an MTU of 1280 bytes.
	// Larger messages use the WebSocket, in both directions.
	FastPayloadMax = 1200

	// ScriptPayloadWarn is the payload size above which a script's message causes a warning. Clients cannot send that
	// much.
	ScriptPayloadWarn = PayloadMax

	// ScriptPayloadMax is the largest payload that a script may send to clients.
	ScriptPayloadMax = 65536

	// LengthVarintMax is the maximum size of a unit's length varint, in bytes. It is enough for 32 bits.
	LengthVarintMax = 5

	// VarintMax is the maximum size of a varint in a packet, in bytes. It is enough for 64 bits. A negative int32 needs
	// all of them.
	VarintMax = 10

	// GroupDepthMax is how deep unknown protobuf groups, which a decoder must skip, may be nested. It is 100, as in
	// other decoders. With the 10000 of Go's decoder, a packet of 20 KiB could grow a reader's stack to megabytes.
	GroupDepthMax = 100

	// ClientVersion is the protocol version that official clients send in LOGIN.
	ClientVersion = 2
)

// overheadMax is the maximum size of a unit without its payload and without an inner message: 5 bytes for the length, 6
// for the op code, 4 times 11 for int32 fields, 2 for reliable, and 6 for the payload's tag and length.
const overheadMax = 63
