// Package stock is a test double of the stock Realtime clients: the official C# client 1.2.0 and, by [Options].Flavor,
// the TypeScript client. Tests drive a server with it and look at what comes back, byte for byte.
//
// It is written from the protocol specification alone and shares no code with the server: it has its own protobuf
// codec, its own RFC 6455 client on a TCP connection and its own UDP handshake, all on the standard library. That is
// the point of it. A mistake in the server's codec cannot cancel itself out here, so nothing of the project and no
// protobuf or WebSocket library may be imported by this package.
//
// What it imitates: the path and the LOGIN each client sends, where each finds its own peer id, one unit per message,
// the UDP handshake with its endless retries, the rule that drops datagrams that are not newer than the newest, the
// rule that picks a channel for a message, group commands that prefer UDP, and the wandering server address of the
// .NET client, which follows the source of the last datagram. In the secured mode ([Secured]) it allows TLS 1.2 alone
// and keeps every check of the certificate on, trusts nothing but caCert for DTLS, holds the WebSocket up for as long as
// the DTLS handshake takes, and sends VERIFY_IDENTITY once. What it does not imitate: several addresses per host,
// compression extensions, and the loss of handshake datagrams in the C# client.
//
// DTLS is spoken by a program of the system, openssl or gnutls-cli, one child process per association, so that it is
// not the server's own library that talks to itself ([HasOpenSSL], [HasGnuTLS]). This needs Linux.
//
// A [Client] is safe for concurrent use. Every packet it receives goes to two places: a log of everything, in order
// of arrival ([Client.Log], [Client.CheckReceived], [Client.CheckSequences]), and a queue of packets not yet taken
// ([Client.Next], [Client.Expect]). A packet that the sequence rule drops is in the log only. A client owns one
// goroutine for the WebSocket and a few for the fast channel; all have ended, and a DTLS program with them, when
// [Client.Close] or [Client.Kill] returns.
package stock
