//go:build !unix

package js

import "time"

// cpu is not known here.
func cpu() time.Duration { return 0 }
