package client

import (
	"context"
	"fmt"
	"time"

	"troupe/messages/wire"
)

// closeTimeout is how long Close waits for the host's close frame.
const closeTimeout = time.Second

// link is a connection's reliable channel. Received units go to connection.onUnit, one call at a time; connection.onEnd is
// called once, last. Any goroutine may call send, close and abort, also after the end.
type link interface {
	// send sends one unit, which it does not keep. An error of the end matches ErrClosed.
	send(ctx context.Context, unit []byte) error
	// openFast begins to set up the fast channel that belongs to this link.
	openFast(f *fastChannel, login *wire.LoginResult, o *Options)
	// close sends close code 1000 and ends the link, within about two seconds.
	close()
	// abort ends the link without telling the host.
	abort()
}

// opener makes a link for a connection. ctx bounds only the opening.
type opener func(ctx context.Context, t Transport, o *Options, cn *connection) (link, error)

func openLink(ctx context.Context, t Transport, o *Options, cn *connection) (link, error) {
	switch t {
	case WS, WSS:
		return openWebSocket(ctx, t, o, cn)
	case KCP:
		return openKCP(ctx, o, cn)
	}
	return nil, fmt.Errorf("client: %s is no transport", t)
}
