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

// selected is the protocol and the operation of a request, before anything is verified.
type selected struct {
	codec     codec
	operation string // empty: no selector
	caller    Caller // once it is known
}

// detect determines the protocol and the operation of a request (service-api.md 1.1). Any
// path may precede the selector. A request of neither protocol is answered in JSON, or in
// CBOR if its body is CBOR.
//
// The protocol header wins over the target: a target is a signed header and a
// path is signed, but the protocol header need not be, and with this order an
// added one can only turn a signed request into an unknown operation.
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
			name = target // of another service: known nowhere
		}
		return selected{codec: jsonCodec{}, operation: name}
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), cborContentType) {
		return selected{codec: cborCodec{}}
	}
	return selected{codec: jsonCodec{}}
}
