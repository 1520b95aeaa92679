// Package dtls is DTLS 1.2 over UDP sockets of its own (DESIGN 7, spec/realtime.md
// section 8): an Endpoint serves many peers on one socket, Dial is the client's
// side. The fast channel of the secured mode and the native transport both stand
// on it.
//
// # Two halves
//
// The library (pion/dtls, in pion.go alone) does the handshake and nothing else.
// It lives in goroutines of its own for as long as a handshake takes, behind a
// pipe: what reaches it has passed the filter. Then it is closed, and the record
// layer is ours: an established [Association] is a few hundred bytes and no
// goroutine, records are opened in the socket's reader and sealed by whoever
// writes, without allocation, with nonces that are the record's own number.
//
// # Who owns what
//
// An Endpoint owns its socket, the reader, the half-open handshakes and the table
// of associations. An Association owns its keys, its numbers and its replay
// window. The layer above owns what an association means, and closes those that
// never say who they are.
//
// # What hostile datagrams meet
//
//   - No handshake beyond the caps: in all, per address, per second. One whose
//     address is not proven (no cookie came back) gives way to a newer one, and
//     sends at most three times what it got.
//   - A handshake takes whole messages only, of the kinds a client sends, that
//     parse, and few of them: no fragments, nothing that grows.
//   - Once established, plain text is dropped: alerts, ChangeCipherSpec, data.
//     Only a ClientHello is heard. It starts a handshake in the shadow of the
//     association, which is replaced when the new one completes, and not before.
//   - Records are checked for forgery and replay before anything is changed.
//   - An association follows its peer to another address (roam.go), by a record that
//     is authentic and newer than all before. What strangers can make of that is a
//     bounded number of tries per second.
//
// All of it is counted (counters.Set: Records, Handshakes) and none of it is
// answered, but for what the handshake itself answers.
//
// # What it does not do
//
// No client certificates, no renegotiation, no connection ids, no versions but
// 1.2, no suites but ECDHE-ECDSA with ChaCha20-Poly1305 or, for peers without it,
// AES-128-GCM, at most 2^20 records per association. Datagrams are lost,
// repeated or reordered as the network likes; a repeated one is dropped here.
package dtls
