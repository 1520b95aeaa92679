//go:build !unix

package host

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
