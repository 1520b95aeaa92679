//go:build faults

package store

import (
	"testing"

	"troupe/actors/fault"
)

func setFaults(t *testing.T, spec string) {
	t.Helper()
	if err := fault.Set(spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fault.Set("") })
}
