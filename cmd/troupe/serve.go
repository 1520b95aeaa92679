package main

import "troupe/transport/host"

type serveCommand struct {
	settings
}

// Run serves until a signal.
func (c *serveCommand) Run(s streams) error {
	defaults := host.Defaults()
	defaults.Store.Memory = false
	cfg, err := c.load(defaults, s.err)
	if err != nil {
		return err
	}
	return runHost(cfg, s, nil)
}
