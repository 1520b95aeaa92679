package acceptance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// shown returns what a host shows of a fleet, a script and an alias, by operation.
func (h *testHost) shown(fleet, script, alias string) map[string]string {
	h.Helper()
	ctx, all := h.context(), make(map[string]string)
	add := func(name string, out any, err error) {
		if err != nil {
			h.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(out)
		if err != nil {
			h.Fatal(err)
		}
		all[name] = string(text)
	}
	a, err := h.api.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleet}})
	add("attributes", a.FleetAttributes, err)
	c, err := h.api.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{fleet}})
	add("capacity", c.FleetCapacity, err)
	p, err := h.api.DescribeFleetPortSettings(ctx, &gamelift.DescribeFleetPortSettingsInput{FleetId: &fleet})
	add("ports", p.InboundPermissions, err)
	r, err := h.api.DescribeRuntimeConfiguration(ctx, &gamelift.DescribeRuntimeConfigurationInput{FleetId: &fleet})
	add("runtime", r.RuntimeConfiguration, err)
	l, err := h.api.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleet})
	add("locations", l.LocationAttributes, err)
	s, err := h.api.DescribeScript(ctx, &gamelift.DescribeScriptInput{ScriptId: &script})
	add("script", s.Script, err)
	i, err := h.api.DescribeAlias(ctx, &gamelift.DescribeAliasInput{AliasId: &alias})
	add("alias", i.Alias, err)
	for _, arn := range []*string{a.FleetAttributes[0].FleetArn, s.Script.ScriptArn, i.Alias.AliasArn} {
		t, err := h.api.ListTagsForResource(ctx, &gamelift.ListTagsForResourceInput{ResourceARN: arn})
		add("tags of "+*arn, t.Tags, err)
	}
	return all
}

// done returns a function that fails the test on an error.
func done[A any](h *testHost) func(out A, err error) A {
	return func(out A, err error) A {
		h.Helper()
		if err != nil {
			h.Fatal(err)
		}
		return out
	}
}

// A fleet with all its settings, its script and its alias, created through the SDK and stored in SQLite:
// after a restart everything is as before, and players can play.
func TestFleetsScriptsAndAliasesAreBackAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		change := func(c *host.Config) {
			c.Store = host.Store{Path: path}
			c.Locations = []host.Location{{Name: "eu-west-1", GameSessionsMax: 1}}
		}
		h := startHost(t, change, nil)
		ctx := h.context()
		script, fleet := h.scriptFleet(archive(map[string]string{"lib/main.js": says("one")}))
		tags := []types.Tag{{Key: aws.String("stage"), Value: aws.String("beta")}}
		alias := *done[*gamelift.CreateAliasOutput](h)(h.api.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: aws.String("a"), Tags: tags,
			RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &fleet}})).Alias.AliasId
		done[*gamelift.UpdateScriptOutput](h)(h.api.UpdateScript(ctx, &gamelift.UpdateScriptInput{ScriptId: &script, Version: aws.String("2.0"),
			ZipFile: archive(map[string]string{"lib/main.js": says("two")})}))
		done[*gamelift.UpdateFleetAttributesOutput](h)(h.api.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: &fleet,
			Description: aws.String("changed"), NewGameSessionProtectionPolicy: types.ProtectionPolicyFullProtection}))
		added := done[*gamelift.CreateFleetLocationsOutput](h)(h.api.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: &fleet,
			Locations: []types.LocationConfiguration{{Location: aws.String("eu-west-1")}}})).LocationStates
		if len(added) != 1 || added[0].Status != types.FleetStatusNew {
			t.Errorf("added: %+v", added)
		}
		h.until("it becomes ACTIVE by itself", func() error {
			out, err := h.api.DescribeFleetLocationAttributes(ctx, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleet, Locations: []string{"eu-west-1"}})
			if err == nil && out.LocationAttributes[0].LocationState.Status != types.FleetStatusActive {
				err = fmt.Errorf("it is %s", out.LocationAttributes[0].LocationState.Status)
			}
			return err
		})
		done[*gamelift.UpdateFleetCapacityOutput](h)(h.api.UpdateFleetCapacity(ctx, &gamelift.UpdateFleetCapacityInput{FleetId: &fleet,
			DesiredInstances: aws.Int32(2), MaxSize: aws.Int32(4)}))
		done[*gamelift.UpdateFleetPortSettingsOutput](h)(h.api.UpdateFleetPortSettings(ctx, &gamelift.UpdateFleetPortSettingsInput{FleetId: &fleet,
			InboundPermissionAuthorizations: []types.IpPermission{{FromPort: aws.Int32(1900), ToPort: aws.Int32(1901), IpRange: aws.String("0.0.0.0/0"), Protocol: types.IpProtocolTcp}}}))
		done[*gamelift.UpdateRuntimeConfigurationOutput](h)(h.api.UpdateRuntimeConfiguration(ctx, &gamelift.UpdateRuntimeConfigurationInput{FleetId: &fleet,
			RuntimeConfiguration: &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: aws.Int32(60), ServerProcesses: []types.ServerProcess{
				{LaunchPath: aws.String("/local/game/lib/main.js"), ConcurrentExecutions: aws.Int32(3)}}}}))
		done[*gamelift.TagResourceOutput](h)(h.api.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: aws.String("arn:aws:gamelift:us-east-1::fleet/" + fleet), Tags: tags}))
		before := h.shown(fleet, script, alias)
		h.host.Close()

		h = startHost(t, change, nil)
		h.untilActive(fleet)
		if after := h.shown(fleet, script, alias); !maps.Equal(before, after) {
			for name, text := range before {
				if after[name] != text {
					t.Errorf("%s: %s, before %s", name, after[name], text)
				}
			}
		}
		ctx = h.context()
		resolved := done[*gamelift.ResolveAliasOutput](h)(h.api.ResolveAlias(ctx, &gamelift.ResolveAliasInput{AliasId: &alias}))
		game, player := h.on(*resolved.FleetId)
		h.hears(player, "two")
		if v := h.version(game); v != "2 (2.0)" {
			t.Errorf("it runs version %q", v)
		}
		used := done[*gamelift.DescribeFleetUtilizationOutput](h)(h.api.DescribeFleetUtilization(ctx, &gamelift.DescribeFleetUtilizationInput{FleetIds: []string{fleet}})).FleetUtilization[0]
		if *used.ActiveServerProcessCount != 6 || *used.ActiveGameSessionCount != 1 || *used.CurrentPlayerSessionCount != 1 || *used.MaximumPlayerSessionCount != 4 {
			t.Errorf("utilization %d %d %d %d", *used.ActiveServerProcessCount, *used.ActiveGameSessionCount, *used.CurrentPlayerSessionCount, *used.MaximumPlayerSessionCount)
		}
		h.checkReceived(player)
	})
}

// One host serves two regions, and each accepts the requests for it.
func TestLocationsOfOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.Locations = []host.Location{{Name: "eu-west-1", GameSessionsMax: 1, Cost: 0.5}}
			c.Fleets[0].Locations = []host.FleetLocation{{Name: "eu-west-1"}}
		}, nil)
		ask := func(location string) (*gamelift.CreateGameSessionOutput, error) {
			return h.api.CreateGameSession(h.context(), &gamelift.CreateGameSessionInput{
				FleetId: aws.String("fleet-dev"), Location: aws.String(location), MaximumPlayerSessionCount: aws.Int32(2)})
		}
		there := done[*gamelift.CreateGameSessionOutput](h)(ask("eu-west-1")).GameSession
		if *there.Location != "eu-west-1" {
			t.Errorf("it is in %s", *there.Location)
		}
		var full *types.FleetCapacityExceededException
		if _, err := ask("eu-west-1"); !errors.As(err, &full) {
			t.Errorf("a second one: %v", err)
		}
		done[*gamelift.CreateGameSessionOutput](h)(ask("us-east-1"))
		h.until("it is ACTIVE", func() error {
			if s := h.game(*there.GameSessionId).Status; s != types.GameSessionStatusActive {
				return fmt.Errorf("it is %s", s)
			}
			return nil
		})
		c := h.join(h.seats(*there.GameSessionId, 1)[0], stock.Options{})
		c.Close()
		locations := done[*gamelift.ListLocationsOutput](h)(h.api.ListLocations(h.context(), &gamelift.ListLocationsInput{})).Locations
		if len(locations) != 2 || *locations[0].LocationName != "eu-west-1" || *locations[1].LocationName != "us-east-1" {
			t.Errorf("locations %v", locations)
		}
		_, err := messages.Do(h.context(), h.host.System(), messages.CreateFleet{Anywhere: true, Locations: []string{"mars"}})
		if err == nil {
			t.Error("a fleet is on mars")
		}
	})
}
