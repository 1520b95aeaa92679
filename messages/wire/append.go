package wire

import "google.golang.org/protobuf/encoding/protowire"

// Each append function writes one field. It writes nothing for the default value, as in proto3. The size functions
// return the corresponding number of bytes.

func appendVarint(dst []byte, v uint64) []byte { return protowire.AppendVarint(dst, v) }

func sizeVarint(v uint64) int { return protowire.SizeVarint(v) }

func appendTag(dst []byte, number, typ uint64) []byte { return appendVarint(dst, number<<3|typ) }

func sizeTag(number uint64) int { return sizeVarint(number << 3) }

func appendUint64(dst []byte, number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendVarint(appendTag(dst, number, typeVarint), v)
}

func sizeUint64(number, v uint64) int {
	if v == 0 {
		return 0
	}
	return sizeTag(number) + sizeVarint(v)
}

// appendInt32 sign-extends the value to 64 bits, so negative values take ten bytes.
func appendInt32(dst []byte, number uint64, v int32) []byte {
	return appendUint64(dst, number, uint64(v))
}

func sizeInt32(number uint64, v int32) int { return sizeUint64(number, uint64(v)) }

// zigzag is the encoding of the op code.
func zigzag(v int32) uint64 { return protowire.EncodeZigZag(int64(v)) }

func appendBool(dst []byte, number uint64, v bool) []byte {
	if !v {
		return dst
	}
	return append(appendTag(dst, number, typeVarint), 1)
}

func appendBytes(dst []byte, number uint64, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return appendMessageField(dst, number, v)
}

func sizeBytes(number uint64, n int) int {
	if n == 0 {
		return 0
	}
	return sizeMessageField(number, n)
}

func appendString(dst []byte, number uint64, v string) []byte {
	if v == "" {
		return dst
	}
	dst = appendVarint(appendTag(dst, number, typeBytes), uint64(len(v)))
	return append(dst, v...)
}

// appendMessageField writes a submessage. It writes the field even if the submessage is empty.
func appendMessageField(dst []byte, number uint64, v []byte) []byte {
	dst = appendVarint(appendTag(dst, number, typeBytes), uint64(len(v)))
	return append(dst, v...)
}

func sizeMessageField(number uint64, n int) int {
	return sizeTag(number) + sizeVarint(uint64(n)) + n
}
