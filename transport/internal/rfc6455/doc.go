// Package rfc6455 is the part of RFC 6455 that the server (transport/websocket) and the client
// (transport/client) share: the headers and masks of frames (section 5), the breaches that a header
// shows, and the response to an opening handshake (section 4.2.2). It does not depend on sockets or
// messages, and stores no bytes. All functions are safe for concurrent use.
package rfc6455
