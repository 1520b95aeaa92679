//go:build !linux

package barerelay

import (
	"context"
	"errors"
)

// ServeEpoll returns an error, because the epoll relay needs Linux.
func ServeEpoll(context.Context, string, string) error {
	return errors.New("the epoll relay needs Linux")
}
