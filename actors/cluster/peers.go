package cluster

import (
	"context"

	"troupe/messages"
	"troupe/messages/coord"
)

// Peers reaches other nodes. Its methods may be called from any goroutine.
type Peers interface {
	// Call has a request answered by another node, with the deadline and the messages.ReplayKey of ctx. A *messages.Error of that node
	// is returned as it is. Other errors wrap coord.ErrRefused if nobody listens at the address, or if the process there is not the
	// incarnation to.Incarnation of to.Name; coord.ErrUnavailable if the request was certainly not sent; coord.ErrUnknown if there was no
	// answer; or ctx's error. Incarnation 0 is that of a process that has not registered. Nothing is sent twice, and a node of which nothing
	// is heard is given up after 3 s, however long ctx is.
	Call(ctx context.Context, to coord.Node, q messages.Request) (any, error)
}
