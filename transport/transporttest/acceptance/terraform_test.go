package acceptance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
)

// The calls that Terraform's AWS provider makes for a script, a fleet and an alias: apply, change, destroy.
// To wait, it polls DescribeFleetAttributes, at the end until the fleet is not found.
func TestTerraformAppliesChangesAndDestroys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Limits = host.Defaults().Limits }, nil)
		ctx := t.Context()
		script := done[*gamelift.CreateScriptOutput](h)(h.api.CreateScript(ctx, &gamelift.CreateScriptInput{
			Name: aws.String("game"), Version: aws.String("1"), ZipFile: archive(map[string]string{"main.js": "exports.ssExports = { init() {} };"}),
		})).Script
		done[*gamelift.DescribeScriptOutput](h)(h.api.DescribeScript(ctx, &gamelift.DescribeScriptInput{ScriptId: script.ScriptId}))
		made := done[*gamelift.CreateFleetOutput](h)(h.api.CreateFleet(ctx, &gamelift.CreateFleetInput{
			Name: aws.String("arena"), ScriptId: script.ScriptId, EC2InstanceType: types.EC2InstanceTypeC5Large, FleetType: types.FleetTypeOnDemand,
			RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{LaunchPath: aws.String("/local/game/main.js"), ConcurrentExecutions: aws.Int32(1)}}},
			Tags:                 []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}},
		})).FleetAttributes
		fleet := *made.FleetId
		attributes := func() []types.FleetAttributes {
			return done[*gamelift.DescribeFleetAttributesOutput](h)(h.api.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleet}})).FleetAttributes
		}
		for attributes()[0].Status != types.FleetStatusActive {
			time.Sleep(10 * time.Second)
		}
		alias := done[*gamelift.CreateAliasOutput](h)(h.api.CreateAlias(ctx, &gamelift.CreateAliasInput{
			Name: aws.String("arena"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &fleet},
		})).Alias

		done[*gamelift.UpdateFleetAttributesOutput](h)(h.api.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: &fleet, Description: aws.String("changed")}))
		done[*gamelift.TagResourceOutput](h)(h.api.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: made.FleetArn, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("b")}}}))
		if a := attributes(); aws.ToString(a[0].Description) != "changed" {
			t.Errorf("after a change: %+v", a)
		}

		done[*gamelift.DeleteAliasOutput](h)(h.api.DeleteAlias(ctx, &gamelift.DeleteAliasInput{AliasId: alias.AliasId}))
		done[*gamelift.DeleteFleetOutput](h)(h.api.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: &fleet}))
		begun := time.Now()
		for len(attributes()) > 0 {
			time.Sleep(time.Second)
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("the fleet was gone after %v", took)
		}
		if ids := done[*gamelift.ListFleetsOutput](h)(h.api.ListFleets(ctx, &gamelift.ListFleetsInput{ScriptId: script.ScriptId})).FleetIds; len(ids) != 0 {
			t.Errorf("listed: %v", ids)
		}
		if _, err := h.api.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: &fleet}); refusedAs(err) != "NotFoundException" {
			t.Errorf("deleted again: %v", err)
		}
		events := done[*gamelift.DescribeFleetEventsOutput](h)(h.api.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: &fleet})).Events
		if len(events) == 0 || events[0].EventCode != types.EventCodeFleetDeleted {
			t.Errorf("events: %+v", events)
		}
		done[*gamelift.DeleteScriptOutput](h)(h.api.DeleteScript(ctx, &gamelift.DeleteScriptInput{ScriptId: script.ScriptId}))
	})
}
