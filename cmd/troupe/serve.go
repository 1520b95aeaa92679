package main

import "troupe/transport/host"

type serveCommand struct {
	settings
	SkipDamaged bool `help:"Start without stored records that are damaged (store.skipDamaged): they are counted, logged, and moved to a file beside the store."`
}

// Run serves until a signal.
func (c *serveCommand) Run(s streams) error {
	defaults := host.Defaults()
	defaults.Store.Memory = false
	cfg, err := c.load(defaults, s.err)
	if err != nil {
		return err
	}
	cfg.Store.SkipDamaged = cfg.Store.SkipDamaged || c.SkipDamaged
	return runHost(cfg, s, nil)
}
