package main

import (
	"troupe/cmd/internal/config"
	"troupe/transport/host"
)

type serveCommand struct {
	settings
	SkipDamaged bool `help:"Start even if the store file has damaged pages: keep the readable records, and take damaged ones out (store.skipDamaged). The old file and the damaged records are kept beside the store. Not needed for damaged records alone: a host starts without them."`
}

// Run serves until it receives a signal.
func (c *serveCommand) Run(s streams) error {
	if c.SkipDamaged {
		c.extra = append(c.extra, config.Flag{Name: "--skip-damaged", Key: "store.skipDamaged", Value: "true"})
	}
	read := func() (host.Config, error) { return c.load(serveDefaults(), s.err) }
	cfg, err := read()
	if err != nil {
		return err
	}
	return runHost(cfg, s, hostOptions{origin: c.origin, reload: read})
}

// serveDefaults returns the defaults of a host with a persistent store.
func serveDefaults() host.Config {
	defaults := host.Defaults()
	defaults.Store.Memory = false
	return defaults
}
