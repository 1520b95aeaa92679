package main

import "troupe/transport/host"

type serveCommand struct {
	settings
	SkipDamaged bool `help:"Start even if the store file has damaged pages: keep the readable records, and take damaged ones out (store.skipDamaged). The old file and the damaged records are kept beside the store. Not needed for damaged records alone: a host starts without them."`
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
