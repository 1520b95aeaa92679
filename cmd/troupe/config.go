package main

import (
	"fmt"

	"troupe/cmd/internal/config"
)

type configCommand struct {
	Check  configCheckCommand  `cmd:"" help:"Report every mistake that would keep troupe serve from starting with a configuration, without starting it."`
	Print  configPrintCommand  `cmd:"" help:"Print every value that troupe serve would use, and where it comes from. Secrets are not shown."`
	Schema configSchemaCommand `cmd:"" help:"Print the JSON Schema of configuration files, with which editors complete and check keys."`
}

type configCheckCommand struct {
	File string `arg:"" help:"The YAML file. Environment variables TROUPE_SECTION_KEY override it, as with troupe serve."`
}

func (c *configCheckCommand) Run(s streams) error {
	warn := func(text string) { fmt.Fprintln(s.err, "troupe: warning:", text) }
	r, err := config.Resolve(config.Sources{Defaults: serveDefaults(), File: c.File, Files: true, Warn: warn})
	if err == nil {
		err = r.Invalid
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s: valid\n", c.File)
	return err
}

type configPrintCommand struct {
	settings
	Defaults bool `help:"Print the defaults alone."`
}

// Run prints a configuration even if it is invalid, and then returns its mistakes.
func (c *configPrintCommand) Run(s streams) error {
	if c.Defaults {
		return (&config.Resolved{Config: serveDefaults()}).Print(s.out)
	}
	sources, err := c.sources(serveDefaults())
	if err != nil {
		return err
	}
	r, err := config.Resolve(sources)
	if err != nil {
		return err
	}
	if err := r.Print(s.out); err != nil {
		return err
	}
	return r.Invalid
}

type configSchemaCommand struct{}

func (configSchemaCommand) Run(s streams) error {
	_, err := s.out.Write(config.Schema)
	return err
}
