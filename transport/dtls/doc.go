// Package dtls is DTLS 1.2 over UDP sockets of the host's own (DESIGN 7): the
// fast channel of the secured mode and the native transport both stand on it.
package dtls
