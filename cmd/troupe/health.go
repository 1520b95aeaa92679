package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// healthLimit bounds how long a host may take to answer.
const healthLimit = 5 * time.Second

type healthCommand struct {
	endpoint
	Ready bool `help:"Ask whether it takes players (/readyz), not only whether it runs (/healthz)."`
}

// Run fails unless the host answers that all is well. It prints ok.
func (c *healthCommand) Run(s streams) error {
	page := "/healthz"
	if c.Ready {
		page = "/readyz"
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
