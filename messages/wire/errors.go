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

	// ErrTruncated: the input ends inside a length, a tag or a value.
	ErrTruncated error = malformed("wire: truncated")
	// ErrLengthVarint: a unit's length takes more than 5 bytes or 32 bits.
	ErrLengthVarint error = malformed("wire: unit length is not a 32-bit varint")
	// ErrLengthLies: a unit's length promises more bytes than there are.
	ErrLengthLies error = malformed("wire: unit length exceeds the input")
	// ErrUnitTooLong: a unit's length is above ServerUnitMax.
	ErrUnitTooLong error = malformed("wire: unit too long")

	// ErrVarint: a varint inside a packet takes more than 10 bytes or 64 bits.
	ErrVarint error = malformed("wire: varint overflow")
	// ErrFieldNumber: a field number is 0 or above the largest of protobuf.
	ErrFieldNumber error = malformed("wire: invalid field number")
	// ErrWireType: a field has wire type 6 or 7, which do not exist.
	ErrWireType error = malformed("wire: invalid wire type")
	// ErrGroup: an end-group tag without its start, or of another field.
	ErrGroup error = malformed("wire: mismatched end of group")
	// ErrGroupDepth: groups nested deeper than GroupDepthMax.
	ErrGroupDepth error = malformed("wire: groups nested too deep")
	// ErrUTF8: a string field holds invalid UTF-8, which proto3 forbids.
	ErrUTF8 error = malformed("wire: string is not valid UTF-8")
)
