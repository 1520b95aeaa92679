package acceptance_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
)

// Content of testdata/store-73e272d.tar.gz. A host of that commit wrote the store. It was killed while a game
// session was running and a placement was PENDING.
const (
	oldScript = "script-8f5ad0b1-1b27-4b9c-ad66-d8a1bceed40c"
	oldFleet  = "fleet-7de219b6-92de-4ce3-8180-c336f9b0c7c7"
	oldAlias  = "alias-8749e6e5-4af0-4294-b6ed-8708dd65d3ef"
	oldGame   = "arn:aws:gamelift:us-east-1::gamesession/" + oldFleet + "/token-1"
	oldPlayer = "psess-ec2ea0e4-d6fb-7381-aea7-2c18aa07f785"
)

// unpack unpacks a store of testdata into a new directory and returns its path.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", archive))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for files := tar.NewReader(plain); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "store.db")
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file.Name)), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A store of an earlier version can be opened, and everything in it works.
func TestAStoreOfAnEarlierVersionOpensWithEverythingInIt(t *testing.T) {
	path := unpack(t, "store-73e272d.tar.gz")
	for _, start := range []string{"first", "second"} {
		bubble(t, start, func(t *testing.T) {
			h := startHost(t, func(c *host.Config) { c.Store = host.Store{Path: path} }, nil)
			h.oldResources()
			h.oldGames()
			h.tagged("script/"+oldScript, "script")
			h.tagged("fleet/"+oldFleet, "fleet")
			h.tagged("location/custom-stored", "location")
			h.tagged("gamesessionqueue/stored-queue", "queue")
		})
	}
}

func (h *testHost) oldResources() {
	h.Helper()
	h.until("the fleet is ACTIVE", func() error {
		out, err := h.api.DescribeFleetAttributes(h.context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{oldFleet}})
		if err != nil || len(out.FleetAttributes) != 1 {
			return fmt.Errorf("%+v, %w", out, err)
		}
		if f := out.FleetAttributes[0]; f.Status != types.FleetStatusActive || *f.Name != "stored fleet" || *f.Description != "changed" || *f.ScriptId != oldScript {
			return fmt.Errorf("%s: %q, %q", f.Status, *f.Name, *f.Description)
		}
		return nil
	})
	if out, err := h.api.DescribeFleetCapacity(h.context(), &gamelift.DescribeFleetCapacityInput{FleetIds: []string{oldFleet}}); err != nil ||
		*out.FleetCapacity[0].InstanceCounts.DESIRED != 2 || *out.FleetCapacity[0].InstanceCounts.MAXIMUM != 3 {
		h.Errorf("capacity: %+v, %v", out, err)
	}
	if out, err := h.api.DescribeFleetPortSettings(h.context(), &gamelift.DescribeFleetPortSettingsInput{FleetId: aws.String(oldFleet)}); err != nil ||
		len(out.InboundPermissions) != 1 || *out.InboundPermissions[0].FromPort != 2000 {
		h.Errorf("ports: %+v, %v", out, err)
	}
	if out, err := h.api.DescribeScript(h.context(), &gamelift.DescribeScriptInput{ScriptId: aws.String(oldScript)}); err != nil ||
		*out.Script.Name != "stored script" || *out.Script.Version != "1.0" {
		h.Errorf("script: %+v, %v", out, err)
	}
	if out, err := h.api.DescribeAlias(h.context(), &gamelift.DescribeAliasInput{AliasId: aws.String(oldAlias)}); err != nil ||
		*out.Alias.Name != "stored alias" || *out.Alias.RoutingStrategy.FleetId != oldFleet {
		h.Errorf("alias: %+v, %v", out, err)
	}
	if out, err := h.api.DescribeGameSessionQueues(h.context(), &gamelift.DescribeGameSessionQueuesInput{Names: []string{"stored-queue"}}); err != nil ||
		len(out.GameSessionQueues) != 1 || *out.GameSessionQueues[0].CustomEventData != "data" || len(out.GameSessionQueues[0].Destinations) != 1 {
		h.Errorf("queue: %+v, %v", out, err)
	}
	out, err := h.api.CreateGameSession(h.context(), &gamelift.CreateGameSessionInput{AliasId: aws.String(oldAlias), MaximumPlayerSessionCount: aws.Int32(2)})
	if err != nil || *out.GameSession.FleetId != oldFleet {
		h.Errorf("a new game session: %+v, %v", out, err)
	}
}

func (h *testHost) oldGames() {
	h.Helper()
	if g := h.game(oldGame); g.Status != types.GameSessionStatusTerminated || *g.Name != "renamed game" || *g.GameProperties[0].Value != "duel" ||
		g.PlayerSessionCreationPolicy != types.PlayerSessionCreationPolicyDenyAll {
		h.Errorf("game session: %+v", g)
	}
	out, err := h.api.DescribePlayerSessions(h.context(), &gamelift.DescribePlayerSessionsInput{PlayerSessionId: aws.String(oldPlayer)})
	if err != nil || len(out.PlayerSessions) != 1 {
		h.Fatal(out, err)
	}
	if p := out.PlayerSessions[0]; p.Status != types.PlayerSessionStatusTimedout || *p.PlayerId != "stored player" || *p.PlayerData != "pd" || *p.GameSessionId != oldGame {
		h.Errorf("player session: %+v", p)
	}
	placed, err := h.api.DescribePlayerSessions(h.context(), &gamelift.DescribePlayerSessionsInput{PlayerId: aws.String("placed player")})
	if err != nil || len(placed.PlayerSessions) != 1 {
		h.Errorf("the placed player: %+v, %v", placed, err)
	}
	// The placement continues. It times out 10 minutes after the archive was made.
	p, err := h.api.DescribeGameSessionPlacement(h.context(), &gamelift.DescribeGameSessionPlacementInput{PlacementId: aws.String("waiting-placement")})
	if err != nil || *p.GameSessionPlacement.GameSessionQueueName != "waiting-queue" ||
		p.GameSessionPlacement.Status != types.GameSessionPlacementStatePending && p.GameSessionPlacement.Status != types.GameSessionPlacementStateTimedOut {
		h.Errorf("placement: %+v, %v", p, err)
	}
}

// tagged checks the tag of a resource.
func (h *testHost) tagged(resource, value string) {
	h.Helper()
	arn := aws.String("arn:aws:gamelift:us-east-1:000000000000:" + resource)
	out, err := h.api.ListTagsForResource(h.context(), &gamelift.ListTagsForResourceInput{ResourceARN: arn})
	if err != nil || len(out.Tags) != 1 || *out.Tags[0].Value != value {
		h.Errorf("tags of %s: %+v, %v", resource, out, err)
	}
}
