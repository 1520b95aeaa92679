package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

type logsCommand struct {
	API       string `name:"api" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Service API of the host (${default})."`
	Region    string `default:"us-east-1" placeholder:"NAME" help:"Region of the host (${default})."`
	AccessKey string `env:"AWS_ACCESS_KEY_ID" placeholder:"ID" help:"Access key to sign with, for a host on another machine. It must be allowed to call everything."`
	SecretKey string `env:"AWS_SECRET_ACCESS_KEY" placeholder:"SECRET" help:"Its secret. Others can see flags: prefer the environment."`
	Token     string `name:"session-token" env:"AWS_SESSION_TOKEN" placeholder:"TOKEN" help:"Its session token, if it has one."`
	CA        string `name:"ca" placeholder:"FILE" help:"PEM certificates to trust for https, instead of the system's."`
	Follow    bool   `short:"f" help:"Wait for more until the game session has ended, or Ctrl-C."`
	ID        string `arg:"" optional:"" name:"game-session" help:"ARN of the game session, or its last part. Without it: which game sessions have a log."`
}

// Run prints a log, or the list of them.
func (c *logsCommand) Run(s streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if c.Follow && c.ID == "" {
		return errors.New("--follow needs a game session")
	}
	q := url.Values{}
	if c.ID != "" {
		q.Set("id", c.ID)
	}
	if c.Follow {
		q.Set("follow", "1")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.API, "/")+"/debug/gamesession-log?"+q.Encode(), nil)
	if err != nil {
		return fmt.Errorf("--api: %w", err)
	}
	if err := c.sign(req); err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	trusted, err := trusting(c.CA)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: trusted, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		const most = 64 << 10
		text, _ := io.ReadAll(io.LimitReader(resp.Body, most))
		return fmt.Errorf("logs: %s", strings.TrimSpace(string(text)))
	}
	_, err = io.Copy(s.out, resp.Body)
	if ctx.Err() != nil {
		return nil // somebody has seen enough
	}
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}

// sign signs a request without a body, if there is a key.
func (c *logsCommand) sign(req *http.Request) error {
	if c.AccessKey == "" {
		return nil
	}
	const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	key := aws.Credentials{AccessKeyID: c.AccessKey, SecretAccessKey: c.SecretKey, SessionToken: c.Token}
	return v4.NewSigner().SignHTTP(req.Context(), key, req, noBody, "gamelift", c.Region, time.Now())
}
