package awswire

import (
	"net/http"
	"strings"
)

const (
	headerTarget     = "X-Amz-Target"
	headerProtocol   = "Smithy-Protocol"
	headerInvocation = "Amz-Sdk-Invocation-Id"

	jsonTargetPrefix = "GameLift."
	cborPathMark     = "/service/GameLift/operation/"
)

// selected has the protocol and the operation of a request. Neither is verified yet.
type selected struct {
	codec     codec
	operation string // empty if the request names none
	caller    Caller // set after authentication
}

// detect determines the protocol and the operation of a request (service-api.md 1.1). Any path may precede
// the part that selects the operation. The response to a request in neither protocol is JSON, or CBOR if its
// body is CBOR.
//
// The protocol header takes precedence over the target header. A signature covers the target and the path,
// but need not cover the protocol header. With this order, somebody who adds a protocol header can only turn
// a signed request into an unknown operation.
func detect(r *http.Request) selected {
	if r.Header.Get(headerProtocol) == cborProtocol {
		name := ""
		if i := strings.LastIndex(r.URL.Path, cborPathMark); i >= 0 {
			name = r.URL.Path[i+len(cborPathMark):]
		}
		return selected{codec: cborCodec{}, operation: name}
	}
	if target := r.Header.Get(headerTarget); target != "" {
		name, ok := strings.CutPrefix(target, jsonTargetPrefix)
		if !ok {
			name = target // the target of another service; no table has this name
		}
		return selected{codec: jsonCodec{}, operation: name}
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), cborContentType) {
		return selected{codec: cborCodec{}}
	}
	return selected{codec: jsonCodec{}}
}
