// Package rfc6455 has the frames of RFC 6455 section 5, for the server
// (transport/websocket) and for the client (transport/client): headers, masks, and the
// breaches of its rules that a header shows; and how a server accepts an opening handshake. It knows nothing of sockets and messages, and
// keeps no bytes. All of it is safe for concurrent use.
package rfc6455
