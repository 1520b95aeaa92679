//go:build faults

package store

import (
	"testing"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fault"
)

func setFaults(t *testing.T, spec string) {
	t.Helper()
	assert.NoError(t, fault.Set(spec))
	t.Cleanup(func() { fault.Set("") })
}
