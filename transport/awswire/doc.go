// Package awswire implements the wire protocols of an AWS-shaped service (API version 2015-10-01 of
// gamelift). It serves two protocols on one address and any path prefix: AWS JSON 1.1 and Smithy RPC v2 CBOR.
// It verifies signatures and access keys, enforces limits of members, and replays the responses of repeated
// calls. It contains nothing about game sessions: a service supplies a table of operations, which are typed
// on the AWS SDK's own input and output structs.
//
// The package owns no socket and starts no goroutine. The caller sets the timeouts of the http.Server that
// runs a Server.
//
// A request passes these steps, and the first refusal is the response: body size, caller (SigV4, or anyone),
// operation, the operations that the caller's key allows, decoding, required members, limits of each member
// in the order of the service model, and then the operation's own function (service-api.md 1.3).
//
// Both protocols require a header that a web page cannot send to another origin without a preflight request
// (X-Amz-Target, smithy-protocol). Preflight requests are refused, so a web page cannot make the browser on
// an operator's machine call the service.
package awswire
