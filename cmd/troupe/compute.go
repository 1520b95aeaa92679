package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/cmd/troupe/internal/play"
	"troupe/cmd/troupe/internal/reach"
	"troupe/messages"
	"troupe/transport/host"
)

// The fleet and the compute that troupe dev creates for game servers with the Server SDK.
const (
	devFleet    messages.FleetID = "fleet-anywhere-dev"
	devCompute                   = "dev"
	devLocation                  = "custom-dev"
)

type computeEnvCommand struct {
	endpoint
	Fleet   string `default:"fleet-anywhere-dev" placeholder:"ID" help:"ANYWHERE fleet (${default})."`
	Compute string `default:"dev" placeholder:"NAME" help:"Name of the registered compute (${default})."`
}

// Run prints the environment of a game server's process.
func (c *computeEnvCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	trusted, err := trusting(c.CA)
	if err != nil {
		return err
	}
	o := play.Options{API: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey, SessionToken: c.SessionToken, TLS: trusted, Network: s.network}
	api := o.Service()
	found, err := api.DescribeCompute(ctx, &gamelift.DescribeComputeInput{FleetId: &c.Fleet, ComputeName: &c.Compute})
	if err != nil {
		return fmt.Errorf("admin: %w", reach.Explain(c.Endpoint, err))
	}
	auth, err := api.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &c.Fleet, ComputeName: &c.Compute})
	if err != nil {
		return fmt.Errorf("admin: %w", reach.Explain(c.Endpoint, err))
	}
	_, err = fmt.Fprint(s.out, computeEnv("", aws.ToString(found.Compute.GameLiftServiceSdkEndpoint), messages.FleetID(*auth.FleetId), *auth.ComputeName, *auth.AuthToken))
	return err
}

// computeEnv returns shell commands that set what every Server SDK reads. The process id is left to the SDK's caller,
// because each process needs another one.
func computeEnv(indent, url string, fleet messages.FleetID, compute, token string) (text string) {
	for _, v := range [][2]string{{"WEBSOCKET_URL", url}, {"FLEET_ID", string(fleet)}, {"HOST_ID", compute}, {"AUTH_TOKEN", token}} {
		text += indent + "export GAMELIFT_SDK_" + v[0] + "=" + quoted(v[1]) + "\n"
	}
	return text
}

// readyCompute creates the ANYWHERE fleet of troupe dev with its compute, unless they exist. It returns what the welcome
// text says about them.
func readyCompute(h *host.Host, cfg *host.Config) string {
	ctx, cancel := context.WithTimeout(context.Background(), reloadLimit)
	defer cancel()
	d := h.Doer()
	ip := "127.0.0.1"
	if cfg.Public.IP != "" {
		ip = cfg.Public.IP
	}
	for _, q := range []messages.Request{
		messages.CreateLocation{Location: messages.Location{Name: devLocation}},
		messages.CreateFleet{ID: devFleet, Name: "anywhere-dev", Description: "game servers with the Server SDK", Anywhere: true, Locations: []string{devLocation}},
		messages.RegisterCompute{Compute: messages.Compute{FleetID: devFleet, Name: devCompute, Location: devLocation, IPAddress: ip}},
	} {
		if _, err := d.Do(ctx, q); err != nil && !errors.Is(err, &messages.Error{Code: messages.Conflict}) {
			return fmt.Sprintf("\nNo fleet is ready for game servers with the Server SDK: %v.\n", err)
		}
	}
	auth, err := messages.Do(ctx, d, messages.AuthorizeCompute{FleetID: devFleet, Name: devCompute})
	if err != nil {
		return fmt.Sprintf("\nNo fleet is ready for game servers with the Server SDK: %v.\n", err)
	}
	return "\nA game server with the GameLift Server SDK needs these, which " + adminLine(invocation(), cfg, h.Addrs(), "compute env") + " prints, too:\n" +
		computeEnv("  ", h.Addrs().ServerSDK, devFleet, devCompute, auth.Token)
}
