package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
	"troupe/bench/matchmaking"
)

type matchCommand struct {
	Validate matchValidate `cmd:"" help:"Check a rule set of matchmaking."`
	Simulate matchSimulate `cmd:"" help:"Run a rule set over players that were recorded or made up, in virtual time: how long do they wait, and how good are the matches?"`
}

// matchValidate checks a rule set. It fails with exitUsage if the rule set is invalid.
type matchValidate struct {
	RuleSet string `arg:"" name:"ruleset" help:"File with the rule set (JSON)."`
	Strict  bool   `help:"Properties that the rule language does not have are errors."`
}

func (c *matchValidate) Run(s streams) error {
	set, err := readRuleSet(c.RuleSet, ruleset.Options{Strict: c.Strict})
	if err != nil {
		return err
	}
	for _, w := range set.Warnings {
		fmt.Fprintln(s.out, "warning:", w)
	}
	players := 0
	for _, t := range set.Teams {
		players += t.Max
	}
	fmt.Fprintf(s.out, "valid: %d teams, %d players at most, %d rules, %d steps of expansions\n", len(set.Teams), players, len(set.Rules), len(set.Changes))
	return nil
}

func readRuleSet(file string, o ruleset.Options) (*ruleset.RuleSet, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	set, err := ruleset.Parse(string(body), o)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("%s: %w", file, err)}
	}
	return set, nil
}

// matchSimulate runs a rule set over a population.
type matchSimulate struct {
	RuleSet   string            `arg:"" name:"ruleset" help:"File with the rule set (JSON)."`
	Players   string            `placeholder:"FILE" xor:"players" required:"" help:"Recorded tickets (JSON)."`
	Generate  int               `placeholder:"N" xor:"players" required:"" help:"Make up so many tickets."`
	Rate      float64           `default:"10" placeholder:"N" help:"Tickets that arrive per second, with --generate (${default})."`
	Parties   float64           `default:"0.2" placeholder:"SHARE" help:"Share of the tickets with two or three players, with --generate (${default})."`
	Locations int               `default:"4" placeholder:"N" help:"Locations that players report latencies to, with --generate (${default})."`
	Attribute map[string]string `placeholder:"NAME=VALUES" mapsep:"none" help:"Values of an attribute, with --generate: mean and standard deviation (skill=1500,300) or words (mode=ctf|duel). May be repeated."`
	Seed      uint64            `default:"1" placeholder:"N" help:"The same seed gives the same result (${default})."`
	Interval  time.Duration     `default:"1s" placeholder:"TIME" help:"Time between passes (${default})."`
	Timeout   time.Duration     `default:"120s" placeholder:"TIME" help:"Request timeout of the tickets (${default})."`
	JSON      string            `name:"json" placeholder:"FILE" help:"Write the report there."`
	Report    string            `placeholder:"DIR" help:"Write a page with the report there, report.html."`
}

// Run simulates and prints the report. Invalid flags and files result in exitUsage.
func (c *matchSimulate) Run(s streams) error {
	usage := func(err error) error { return &exitError{exitUsage, fmt.Errorf("match simulate: %w", err)} }
	if c.Rate <= 0 || c.Interval <= 0 || c.Timeout <= 0 || c.Generate < 0 || c.Generate > 1_000_000 || c.Locations < 0 || c.Locations > 100 || c.Timeout/c.Interval > 1_000_000 {
		return usage(errors.New("--rate, --interval and --timeout must be more than 0, --generate at most 1000000, --locations at most 100"))
	}
	if c.Players == "" && c.Generate == 0 || c.Parties < 0 || c.Parties > 1 {
		return usage(errors.New("--generate must be more than 0, and --parties a share from 0 to 1"))
	}
	set, err := readRuleSet(c.RuleSet, ruleset.Options{})
	if err != nil {
		return err
	}
	if err := awaitResults(c.JSON, c.Report, "report.html"); err != nil {
		return usage(err)
	}
	var tickets []match.Ticket
	var madeUp []string
	if c.Players != "" {
		data, err := os.ReadFile(c.Players)
		if err != nil {
			return usage(err)
		}
		if tickets, err = matchmaking.Read(data, set); err != nil {
			return usage(fmt.Errorf("%s: %w", c.Players, err))
		}
	} else {
		p := matchmaking.Population{Tickets: c.Generate, PerSecond: c.Rate, Parties: c.Parties, Locations: c.Locations, Attributes: c.Attribute, Seed: c.Seed}
		if tickets, err = p.Generate(set); err != nil {
			return usage(err)
		}
		madeUp = p.MadeUp(set)
	}
	report, err := matchmaking.Simulate(set, tickets, matchmaking.Options{Interval: c.Interval, Timeout: c.Timeout, Seed: c.Seed})
	if err != nil {
		return usage(err)
	}
	report.MadeUp = madeUp
	if err := report.Write(s.out); err != nil {
		return err
	}
	return c.store(report)
}

// store writes the files for --json and --report.
func (c *matchSimulate) store(report matchmaking.Report) error {
	if c.JSON != "" {
		data, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.JSON, append(data, '\n'), 0o644); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	if c.Report == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(c.Report, "report.html"))
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return errors.Join(report.Page(f), f.Close())
}
