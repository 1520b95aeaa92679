// Package dtls is DTLS 1.2 over its own UDP sockets (D-21, realtime.md 8). An
// Endpoint serves many peers on one socket. Dial is the client's side. The fast
// channel of the secured mode and the KCP transport both use it.
//
// # Two halves
//
// The library (pion/dtls, used only in pion.go) does the handshake and nothing else.
// It runs in its own goroutines during a handshake, and all its input passes a filter
// and a pipe. When the handshake is complete, the library is closed, and this
// package's own record layer takes over. An established [Association] takes a few
// hundred bytes and no goroutine. The socket's reader decrypts records, and the writing
// goroutine encrypts them, both without allocation. The nonce of a record comes from its
// number.
//
// The layer above decides which peer an association belongs to, and closes
// associations that never identify themselves.
//
// # Defence against hostile datagrams
//
//   - Handshakes are limited in total, per address, and per second. While the address of
//     a handshake is not proven (no cookie came back), a newer handshake may evict it,
//     and it sends at most three times the bytes it has received.
//   - From a client, a handshake accepts only a few complete messages of the expected
//     types that parse correctly. It accepts no fragments and nothing that grows.
//   - Once an association is established, plaintext is dropped: alerts,
//     ChangeCipherSpec, data. The exception is a ClientHello. It starts a second
//     handshake, which replaces the association only when it completes.
//   - Records are checked for forgery and replay before they change any state.
//   - An association follows its peer to another address (roam.go).
//
// All of this is counted (counters.Set: Records, Handshakes). Only the handshake itself
// answers unauthenticated input.
//
// # What it does not do
//
// It has no client certificates, no renegotiation, no connection ids, and no version
// except 1.2. It supports ECDHE-ECDSA with ChaCha20-Poly1305, and AES-128-GCM for peers
// without ChaCha20. With AES-128-GCM an association has at most 2^20 records. The network
// may lose, repeat or reorder datagrams. This package drops repeated ones.
package dtls
