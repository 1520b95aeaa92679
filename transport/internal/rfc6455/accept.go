package rfc6455

import (
	"crypto/sha1"
	"encoding/base64"
)

// acceptGUID is the constant of RFC 6455 section 1.3.
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// AppendAccept appends the Sec-WebSocket-Accept for a Sec-WebSocket-Key (RFC 6455 section 4.2.2).
func AppendAccept(dst, key []byte) []byte {
	var text [64]byte
	sum := sha1.Sum(append(append(text[:0], key...), acceptGUID...))
	return base64.StdEncoding.AppendEncode(dst, sum[:])
}

// AppendAccepted appends the response that accepts an opening handshake.
func AppendAccepted(dst, key []byte) []byte {
	dst = append(dst, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "...)
	dst = AppendAccept(dst, key)
	return append(dst, "\r\n\r\n"...)
}
