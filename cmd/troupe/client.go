package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"troupe/cmd/troupe/internal/play"
	"troupe/transport/client"
)

// defaultFleet is the one of host.Defaults.
const defaultFleet = "fleet-dev"

type clientCommand struct {
	endpoint
	Fleet       string        `xor:"place" placeholder:"ID" help:"Fleet to play on (fleet-dev, unless there is an alias)."`
	Alias       string        `xor:"place" placeholder:"ID" help:"Alias to play on, instead of a fleet."`
	GameSession string        `placeholder:"ARN" help:"Join this game session. Without it: one with room, or a new one."`
	Player      string        `placeholder:"NAME" help:"Player id; with --bots its beginning. Made up if absent."`
	Bots        int           `placeholder:"N" help:"Let N bots play instead of you, and count what arrives."`
	Rate        float64       `default:"5" placeholder:"HZ" help:"Messages per second and bot (${default})."`
	Duration    time.Duration `placeholder:"D" help:"How long bots play. Without it: until Ctrl-C."`
	Payload     int           `default:"64" placeholder:"BYTES" help:"Payload of the bots' messages (${default}; at least 31)."`
	Group       int32         `placeholder:"G" help:"Join this group first. Bots join 1 unless told otherwise."`
	Fast        bool          `help:"Use the fast channel. Bots then send every other message by it."`
	Transport   string        `enum:"ws,wss,kcp,auto" default:"ws" help:"ws, wss, kcp, or auto: kcp, and wss where that does not get through (${default})."`
	KCPAddr     string        `name:"kcp-addr" placeholder:"ADDR" help:"host:port of KCP. Without it: port 33402 where the game session is."`
	ServerName  string        `placeholder:"NAME" help:"Name that the host's certificate must carry. Without it: the one connected to."`
	Drop        time.Duration `placeholder:"D" help:"Cut the own network every D, at first after a part of it."`
	For         time.Duration `placeholder:"D" help:"How long it stays cut with --drop; without it: no longer than it takes to come back."`
	Quiet       bool          `short:"q" help:"Print less: only what is said; for bots only trouble and the table."`
}

// Run plays until the end of the input, the duration or a signal; a second
// signal ends the process at once.
func (c *clientCommand) Run(s streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	o := play.Options{
		API: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey, SessionToken: c.SessionToken, Fleet: c.Fleet, Alias: c.Alias, GameSession: c.GameSession,
		Player: c.Player, Group: c.Group, Fast: c.Fast, Quiet: c.Quiet, KCPAddr: c.KCPAddr,
		Drop: c.Drop, For: c.For,
	}
	var err error
	if o.Transport, err = client.ParseTransport(c.Transport); err != nil {
		return err
	}
	if o.TLS, err = c.tls(); err != nil {
		return err
	}
	if o.Fleet == "" && o.Alias == "" {
		o.Fleet = defaultFleet
	}
	switch {
	case c.Group < 0:
		return errors.New("--group must be positive")
	case c.Bots < 0:
		return errors.New("--bots must not be negative")
	case c.Bots == 0:
		return play.Chat(ctx, o, s.in, s.out)
	}
	if o.Group == 0 {
		o.Group = 1
	}
	return play.Bots(ctx, play.BotOptions{
		Options: o, Bots: c.Bots, Rate: c.Rate, Duration: c.Duration, PayloadBytes: c.Payload,
	}, s.out)
}

// tls is what the host's certificate is checked against.
func (c *clientCommand) tls() (*tls.Config, error) {
	config, err := trusting(c.CA)
	if err != nil {
		return nil, err
	}
	config.ServerName = c.ServerName
	return config, nil
}

// trusting is a configuration that trusts the certificates in a file; without one,
// the system's.
func trusting(file string) (*tls.Config, error) {
	config := new(tls.Config)
	if file == "" {
		return config, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca: %s has no PEM certificate", file)
	}
	return config, nil
}
