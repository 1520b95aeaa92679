//go:build !linux

package faults

import "errors"

var pairsEnv []string

// pairs is not supported on this system.
type pairs struct{}

func (c *cluster) listenPairs(int) (*pairs, error) { return nil, errors.ErrUnsupported }

func (p *pairs) addr() string { return "" }

func (p *pairs) close() {}
