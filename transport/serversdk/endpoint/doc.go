// Package endpoint serves the connections of processes that speak the GameLift Server SDK (server-sdk.md 4 to 6 and 12).
// It is an http.Handler that accepts WebSocket handshakes, and passes the calls of a process to a Backend. The state of
// processes is not here: a Backend has it, and package serversdk reads and writes the messages.
//
//	GET with a query -> authorize -> Backend (OpenProcess that asks) -> 101 -> Backend (OpenProcess) -> conn
//	frame -> reader of the conn -> pong, heartbeat: at once
//	                            -> StartMatchBackfill: beside the others
//	                            -> anything else: a queue, one at a time -> Backend -> answer
//	Backend -> ProcessLink.Push -> conn of the process -> message and ping
//	its pong -> Backend (PushArrived)
//
// A connection has one goroutine that reads, and that closes the connection in the end. A goroutine that writes lives while
// there is something to write; it encodes pushes. Its queue is bounded by writeBytesMax: a process that does not read loses the connection without a close frame, and connects again.
// A process keeps the answers to its last requests (replaysMax), across its connections, so that a request that is sent
// again has one effect only.
//
// Limits on bad input: a frame of more than serversdk.FrameMax closes with 1009, a binary message with 1003, a breach of
// RFC 6455 with 1002, messages that come much too fast and one that takes longer than messageTime with 1008, and a message for
// which the others leave no memory (heldMax) with 1013. A request too many is answered with 429.
package endpoint
