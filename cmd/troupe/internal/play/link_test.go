package play

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"troupe/transport/client"
)

func TestAFirstLoginThatFailsIsAdvised(t *testing.T) {
	late := fmt.Errorf("kcp at 127.0.0.1:1: %w", context.DeadlineExceeded)
	if err := advised(late, client.KCP); !strings.HasSuffix(err.Error(), "name it with --kcp-addr HOST:PORT") {
		t.Error(err)
	}
	for _, err := range []error{late, fmt.Errorf("%w: %w", client.ErrRefused, late)} {
		if got := advised(err, client.WS); got != err {
			t.Error(got)
		}
	}
}
