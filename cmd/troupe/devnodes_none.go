//go:build noetcdserver

package main

import (
	"troupe/transport/host"
)

const devNodesMax = 1

type devCluster struct{}

func newDevCluster(*host.Config, int, streams) (*devCluster, error) { return new(devCluster), nil }

func (*devCluster) startHosts(*host.Host, host.Config, streams) error { return nil }

func (*devCluster) close() {}
