// Package awswire is the wire of an AWS-shaped service (API version 2015-10-01 of
// gamelift): two protocols on one address and any path prefix, AWS JSON 1.1 and Smithy
// RPC v2 CBOR, with signatures, access keys, limits of members and replay of repeated
// calls. It knows nothing of game sessions: a service gives it a table of operations, which
// are typed on the AWS SDK's own input and output structs.
//
// The package owns no socket and starts no goroutine; whoever serves a Server sets the
// timeouts of the http.Server around it.
//
// A request passes these steps, and the first refusal wins: body size, caller
// (SigV4, or anyone), operation, what the caller's key allows, decoding, required
// members, limits of each member in the order of the service model, and then the
// operation's own function (service-api.md 1.3).
//
// Both protocols demand a header that a web page cannot send to another origin
// without a preflight (X-Amz-Target, smithy-protocol), and preflights are
// refused: a browser on the operator's machine cannot be tricked into calls.
package awswire
