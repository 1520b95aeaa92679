package client

import (
	"context"
	"fmt"
	"time"

	"troupe/messages/wire"
)

// closeTimeout is how long Close waits for the host's close frame.
const closeTimeout = time.Second

// link is a connection's reliable channel. Received units go to connection.onUnit, one call at a time. connection.onEnd
// is called once, after the last onUnit. send, close and abort are safe for concurrent use, also after the end.
type link interface {
	// send sends one unit and does not retain it. After the end, its error matches ErrClosed.
	send(ctx context.Context, unit []byte) error
	// openFast starts to set up the fast channel of this link.
	openFast(f *fastChannel, login *wire.LoginResult, o *Options)
	// close sends close code 1000 and ends the link, within about two seconds.
	close()
	// abort ends the link without telling the host.
	abort()
}

// opener opens a link for a connection. ctx limits only the opening.
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
