// Package sdkclient is the process's side of the GameLift Server SDK 5.x. It acts like a stock SDK and is written from the
// specification (server-sdk.md) alone: it shares no code with transport/serversdk. Tests drive the host's endpoint with it, and
// `troupe bench servers` runs 20,000 of its processes in one generator. It is not a test package, because the generator is part
// of the binary.
//
//	Init -> Ready -> push CreateGameSession -> OnStartGameSession -> ActivateGameSession -> AcceptPlayerSession ... -> Ending -> Destroy
//
// What depends on the SDK is in one table, [rules], with a row for each [Flavor]:
//
//	          Go56 (Go 5.6.0)                     Go54 (Go 5.4.0)  Cpp (C++ 5.4.0)                        CSharp (C# 5.5.0)
//	query     form encoding, keys sorted          = Go56           slash appended, not encoded            not encoded
//	attempt   any time                            = Go56           20 s                                   2 s
//	drop      reconnects at once, same URL;       = Go56           reconnects, same URL; never again      reconnects, new IdempotencyToken;
//	          sends wait until 5 s later                           after a close frame with 1000 or       after a close frame with 1000 or
//	                                                               1001, or after its last attempt        1001 with the next send only
//	refresh   sends wait until the old one is     = Go56           at once; closes the old one with 1001  at once; leaves the old one to the host
//	          closed, 5 s later, without a frame;
//	          a refused one costs 184 s
//	silence   reconnects after two unanswered     keeps the        sends the same RequestId again after   keeps the connection, on which it
//	          requests, same URL                  connection       20 s, five times; after two unanswered sends a ping before each request
//	                                                               ones a new connection, without SigV4
//	health    false without a callback; reports   = Go56           true without a callback; the interval  = Go56
//	          pile up while sends wait                             begins after the answer
//
// The SDK for C++ speaks TLS only; Cpp speaks ws as well, so that a test needs no certificate. It verifies none.
//
// A [Process] checks what the host sends against the rules of server-sdk.md 6.1 and 8 ([Process.Violations]). It never
// panics on input of the host.
//
// A Process has one goroutine for each of its connections and one for each frame that is being handled, as the SDK for Go has.
// Between reports of its health it has the reader and a timer only: about 12 KiB. [Process.Wait] returns when all goroutines ended.
package sdkclient
