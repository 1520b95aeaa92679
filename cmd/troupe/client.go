package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/cmd/troupe/internal/play"
	"troupe/transport/client"
)

// defaultFleet is the id of the fleet in host.Defaults.
const defaultFleet = "fleet-dev"

type clientCommand struct {
	endpoint
	Fleet       string        `xor:"destination" placeholder:"ID" help:"Fleet to play on (fleet-dev, unless --alias is given)."`
	Alias       string        `xor:"destination" placeholder:"ID" help:"Alias to play on, instead of a fleet."`
	GameSession string        `placeholder:"ID" help:"Join this game session. Without it: join one that has free seats, or create one."`
	Player      string        `placeholder:"NAME" help:"Player id; with --bots the prefix of the bots' player ids. Without it: a random one."`
	Bots        int           `placeholder:"N" help:"Let N bots play instead of you, and count the messages that arrive."`
	Rate        float64       `default:"5" placeholder:"HZ" help:"Messages per second and bot (${default})."`
	Duration    time.Duration `placeholder:"D" help:"How long bots play. Without it: until Ctrl-C."`
	Payload     int           `default:"64" placeholder:"BYTES" help:"Payload of the bots' messages (${default}; at least 31)."`
	Group       int32         `placeholder:"G" help:"Join this group first. Bots join group 1 by default."`
	Fast        bool          `help:"Use the fast channel (UDP). Bots then send every other message over it."`
	Transport   string        `enum:"ws,wss,kcp,auto" default:"ws" help:"ws, wss, kcp, or auto: kcp, or wss if kcp does not get through (${default})."`
	KCPAddr     string        `name:"kcp-addr" placeholder:"ADDR" help:"host:port of KCP. Without it: port 33402 of the game session's host."`
	ServerName  string        `placeholder:"NAME" help:"Name that the host's certificate must have. Without it: the name of the address connected to."`
	Drop        time.Duration `placeholder:"D" help:"Simulate a network failure every D; the first one comes after a random part of D."`
	For         time.Duration `placeholder:"D" help:"Duration of each network failure of --drop. Without it: the client reconnects at once."`
	Quiet       bool          `short:"q" help:"Print less: only chat messages; with --bots only errors and the final table."`
}

// Run plays until the input ends, the duration is over or a signal arrives. A second signal ends the process
// immediately.
func (c *clientCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	context.AfterFunc(ctx, stop)
	o := play.Options{
		API: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey, SessionToken: c.SessionToken, Fleet: c.Fleet, Alias: c.Alias, GameSession: c.gameARN(c.GameSession),
		Player: c.Player, Group: c.Group, Fast: c.Fast, Quiet: c.Quiet, KCPAddr: c.KCPAddr,
		Drop: c.Drop, For: c.For, Network: s.network,
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
		return &exitError{exitUsage, errors.New("--group must be positive")}
	case c.Bots < 0:
		return &exitError{exitUsage, errors.New("--bots must not be negative")}
	case c.Bots == 0:
		return play.Chat(ctx, o, s.in, s.out)
	}
	if o.Group == 0 {
		o.Group = 1
	}
	err = play.Bots(ctx, play.BotOptions{
		Options: o, Bots: c.Bots, Rate: c.Rate, Duration: c.Duration, PayloadBytes: c.Payload,
	}, s.out)
	if errors.Is(err, play.ErrNoneCameBack) {
		return &exitError{exitVoid, err}
	}
	return err
}

// tls returns the configuration for checking the host's certificate.
func (c *clientCommand) tls() (*tls.Config, error) {
	config, err := trusting(c.CA)
	if err != nil {
		return nil, err
	}
	config.ServerName = c.ServerName
	return config, nil
}

// trusting returns a configuration that trusts the certificates in a file, or the system's certificates if file is
// empty.
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
