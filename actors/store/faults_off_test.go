//go:build !faults

package store

import "testing"

func setFaults(*testing.T, string) {}
