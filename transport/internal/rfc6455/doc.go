// Package rfc6455 is what the server (transport/websocket) and the client (transport/client) share
// of RFC 6455: the headers and masks of frames (section 5), the breaches of its rules that a header
// shows, and the answer to an opening handshake (section 4.2.2). It knows nothing of sockets and
// messages, and keeps no bytes. All of it is safe for concurrent use.
package rfc6455
