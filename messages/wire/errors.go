package wire

// malformed is the type of all decode errors. They are constants, so refusing invalid input allocates no memory.
type malformed string

// Error returns the text. It never contains received bytes.
func (e malformed) Error() string { return string(e) }

// Is makes every decode error match ErrMalformed.
func (e malformed) Is(target error) bool { return target == ErrMalformed }

// Errors of the decoders. With errors.Is, each error matches itself and also ErrMalformed, for layers that only count
// malformed packets.
var (
	// ErrMalformed matches all errors below.
	ErrMalformed error = malformed("wire: malformed packet")

	// ErrTruncated says that the input ends inside a length, a tag or a value.
	ErrTruncated error = malformed("wire: truncated")
	// ErrLengthVarint says that a unit's length takes more than 5 bytes or 32 bits.
	ErrLengthVarint error = malformed("wire: unit length is not a 32-bit varint")
	// ErrLengthLies says that a unit's length promises more bytes than there are.
	ErrLengthLies error = malformed("wire: unit length exceeds the input")
	// ErrUnitTooLong says that a unit's length is above ServerUnitMax.
	ErrUnitTooLong error = malformed("wire: unit too long")

	// ErrVarint says that a varint inside a packet takes more than 10 bytes or 64 bits.
	ErrVarint error = malformed("wire: varint overflow")
	// ErrFieldNumber says that a field number is 0 or above the largest of protobuf.
	ErrFieldNumber error = malformed("wire: invalid field number")
	// ErrWireType says that a field has wire type 6 or 7, which do not exist.
	ErrWireType error = malformed("wire: invalid wire type")
	// ErrGroup says that an end-group tag has no start or belongs to another field.
	ErrGroup error = malformed("wire: mismatched end of group")
	// ErrGroupDepth says that groups are nested deeper than GroupDepthMax.
	ErrGroupDepth error = malformed("wire: groups nested too deep")
	// ErrUTF8 says that a string field holds invalid UTF-8, which proto3 forbids.
	ErrUTF8 error = malformed("wire: string is not valid UTF-8")
	// ErrEndpoints says that a text is not that of Endpoints.
	ErrEndpoints error = malformed("wire: invalid addresses of a node")
)
