package main

import "troupe/transport/host"

type serveCommand struct {
	settings
}

// Run serves until a signal.
func (c *serveCommand) Run(s streams) error {
	cfg, err := c.load(host.Defaults())
	if err != nil {
		return err
	}
	return runHost(cfg, s, nil)
}
