// Package stock is a test double of the stock Realtime clients: the official C# client 1.2.0 and, selected by
// [Options].Flavor, the TypeScript client. Tests use it to drive a server and to inspect the server's bytes.
//
// It is written from the protocol specification alone and shares no code with the server. It has its own
// protobuf codec, its own RFC 6455 client on a TCP connection and its own UDP handshake, all based on the
// standard library. This independence is its purpose: a mistake in the server's codec cannot be hidden by the
// same mistake here. So the package must not import anything of the project, nor a protobuf or WebSocket
// library.
//
// It imitates the path and the LOGIN of each client, where each finds its own peer id, one unit per message,
// and the UDP handshake with its unlimited retries. It imitates the rule that drops datagrams whose number is
// not higher than the highest so far, the rule that chooses the channel of a message, and group commands that
// prefer UDP. Like the .NET client, it sends datagrams to the source address of the last received datagram.
// In the secured mode ([Secured]), it allows TLS 1.2 only and verifies certificates completely. For DTLS it
// trusts only caCert, reads nothing from the WebSocket during the DTLS handshake, and sends VERIFY_IDENTITY
// once. It does not imitate several addresses per host, compression extensions, and the loss of handshake
// datagrams in the C# client.
//
// For DTLS it runs a program of the system, openssl or gnutls-cli, with one child process per association. So
// the server's own library does not talk to itself ([HasOpenSSL], [HasGnuTLS]). This needs Linux.
//
// A [Client] is safe for concurrent use. Every received packet goes to two places: a log of all packets in
// order of arrival ([Client.Log], [Client.CheckReceived], [Client.CheckSequences]), and a queue of packets
// that were not taken yet ([Client.Next], [Client.Expect]). A packet that is dropped because of its sequence
// number is in the log only. A client has one goroutine for the WebSocket and a few for the fast channel.
// When [Client.Close] or [Client.Kill] returns, all of them have ended, and so has the DTLS program.
package stock
