package main

import "troupe/transport/host"

type serveCommand struct {
	settings
	SkipDamaged bool `help:"Start with what can be read of a store file with damaged pages, and take damaged records out of it (store.skipDamaged); both are kept beside it. Damaged records alone do not need this: a host starts without them."`
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
