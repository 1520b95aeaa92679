// Package dtls is DTLS 1.2 over UDP sockets of its own (D-21, realtime.md 8):
// an Endpoint serves many peers on one socket, Dial is the client's
// side. The fast channel of the secured mode and the KCP transport both use it.
//
// # Two halves
//
// The library (pion/dtls, used in pion.go only) does the handshake and nothing else.
// It runs in goroutines of its own during a handshake, behind a pipe and a filter that
// all its input passes. When the handshake is done, the library is closed, and this
// package's own record layer takes over. An established [Association] takes a few
// hundred bytes and no goroutine. The socket's reader decrypts records, and the writing
// goroutine encrypts them, both without allocation. A record's nonce is its number.
//
// The layer above decides which peer an association belongs to, and closes
// associations that never identify themselves.
//
// # Defence against hostile datagrams
//
//   - Handshakes are limited: in total, per address, and per second. A handshake whose
//     address is not proven (no cookie came back) is evicted in favour of a newer one,
//     and sends at most three times the bytes it has received.
//   - A handshake accepts only whole messages, of the kinds a client sends, that parse,
//     and only a few of them: no fragments, and nothing that grows.
//   - Once an association is established, plaintext is dropped: alerts,
//     ChangeCipherSpec, data. The exception is a ClientHello. It starts a handshake
//     beside the association, which is replaced only when that handshake completes.
//   - Records are checked for forgery and replay before they change any state.
//   - An association follows its peer to another address (roam.go).
//
// All of this is counted (counters.Set: Records, Handshakes). Nothing is answered except
// by the handshake itself.
//
// # What it does not do
//
// It has no client certificates, no renegotiation, no connection ids, and no version but
// 1.2. Its suites are ECDHE-ECDSA with ChaCha20-Poly1305 and, for peers without that,
// AES-128-GCM, with at most 2^20 records per association. The network may lose, repeat
// or reorder datagrams; repeated ones are dropped here.
package dtls
