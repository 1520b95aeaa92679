// Package serversdk reads and writes the messages between the host and processes that speak the GameLift Server SDK 5.x
// (server-sdk.md): the handshake's query with both kinds of authorization, requests, responses and pushes.
//
// It is pure: bytes in, values out, and back. It opens no socket and knows no process. The state of a process is in
// actors/serverprocess.
//
//	query   -> ParseHandshake -> Handshake, or a Refusal with the HTTP status
//	frame   -> Parse          -> Request with the fields of its action, or a Refusal with the StatusCode
//	result  -> Request.Answer -> frame
//	Refusal -> Refusal.Frame  -> frame
//	fields  -> Push           -> frame
//
// Input never panics. A frame has FrameMax bytes at most, and a request needs at most 30 times the memory of its frame: an
package serversdk
