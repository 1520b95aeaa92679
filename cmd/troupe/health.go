package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"troupe/cmd/internal/config"
)

// healthLimit bounds how long a host may take to answer.
const healthLimit = 5 * time.Second

type healthCommand struct {
	endpoint
	Config string `placeholder:"FILE" help:"Instead of --endpoint: the host of this machine that serves this file, with the TROUPE_ variables of the environment. With api.tls it is asked by https, and its certificate is not checked: it need not be for an address of this machine."`
	Ready  bool   `help:"Ask whether it takes players (/readyz), not only whether it runs (/healthz)."`
}

// Run prints ok if the host reports that it is healthy, and fails otherwise.
func (c *healthCommand) Run(s streams) error {
	page := "/healthz"
	if c.Ready {
		page = "/readyz"
	}
	if c.Config != "" {
		if err := c.configured(); err != nil {
			return fmt.Errorf("health: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthLimit)
	defer cancel()
	resp, err := c.operator(ctx, http.MethodGet, page, nil)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	_ = resp.Body.Close()
	_, err = fmt.Fprintln(s.out, "ok")
	return err
}

// configured sets the endpoint to that of the host that serves a configuration file. It accepts an invalid
// configuration, because the file may have been edited since the host read it.
func (c *healthCommand) configured() error {
	r, err := config.Resolve(config.Sources{Defaults: serveDefaults(), File: c.Config})
	if err != nil {
		return err
	}
	name, port, err := net.SplitHostPort(r.Config.API.Addr)
	if err != nil {
		return fmt.Errorf("api.addr: %w", err)
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	c.Endpoint = "http://" + net.JoinHostPort(name, port)
	if r.Config.API.TLS {
		c.Endpoint, c.anyCertificate = "https://"+net.JoinHostPort(name, port), true
	}
	c.AccessKey = "" // these pages require no access key
	return nil
}
