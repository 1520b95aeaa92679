package cluster

import (
	"context"

	"troupe/messages"
	"troupe/messages/coord"
)

// Peers sends requests to other nodes. Its methods may be called from any goroutine.
type Peers interface {
	// Call sends a request to another node and returns the answer. The request carries the deadline and the
	// messages.ReplayKey of ctx. A *messages.Error of that node is returned unchanged. Other errors are ctx's error or
	// wrap one of these: coord.ErrRefused if nobody listens at the address, or if the process there is not incarnation
	// to.Incarnation of node to.Name; coord.ErrUnavailable if the request was certainly not sent, with
	// coord.ErrUntrusted if certificates are the reason; coord.ErrUnknown if there was no answer. A process that has not registered has incarnation 0. Call sends a request only once. It fails
	// when nothing has been received from the node for 3 s, even if ctx's deadline is later.
	Call(ctx context.Context, to coord.Node, q messages.Request) (any, error)
}
