// Package serviceapi answers the AWS-shaped service API (version 2015-10-01)
// over HTTP, so that unmodified AWS SDKs and command lines can drive the host.
// Two wire protocols share one address and any path prefix: AWS JSON 1.1 and
// Smithy RPC v2 CBOR. Operations are typed on the AWS SDK's own input and
// output structs.
//
// The package does protocol, signatures, decoding, validation, pagination, replay
// of repeated calls, and translation between API shapes and messages. It decides
// nothing about games: that is the Backend's work, which the actors implement.
// It owns no socket and starts no goroutine; whoever serves a Server sets the
// timeouts of the http.Server around it.
//
// A request passes these steps, and the first refusal wins: body size, caller
// (SigV4, or anyone), operation, what the caller's key allows, decoding, required
// members, limits of each member in the order of the service model, rules across
// members, and then the Backend (service-api.md 1.3).
//
// Both protocols demand a header that a web page cannot send to another origin
// without a preflight (X-Amz-Target, smithy-protocol), and preflights are
// refused: a browser on the operator's machine cannot be tricked into calls.
package serviceapi
