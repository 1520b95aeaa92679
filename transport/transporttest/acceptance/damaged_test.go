package acceptance_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/store"
	"troupe/transport/host"
)

// The store contains a script without its content, and a fleet record that cannot be read. The host starts
// and reports both. A new content for the script repairs the fleet.
func TestAHostStartsWithoutARecordThatItCannotUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		change := func(c *host.Config) { c.Store = host.Store{Path: path} }
		h := startHost(t, change, nil)
		id, fleet := h.scriptFleet(archive(map[string]string{"lib/main.js": says("one")}))
		h.host.Close()
		tamper(t, path, store.Delete(store.Content, id), store.Change{Kind: store.Fleet, ID: "fleet-unreadable", Value: []byte("{")})

		h = startHost(t, func(c *host.Config) {
			change(c)
			c.Queues = append(c.Queues, host.Queue{Name: "lost", Timeout: time.Minute, Destinations: []string{"fleet-unreadable"}})
		}, nil)
		h.until("the fleet is in ERROR", func() error {
			out, err := h.api.DescribeFleetAttributes(h.context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleet}})
			if err == nil && out.FleetAttributes[0].Status != types.FleetStatusError {
				err = fmt.Errorf("it is %s", out.FleetAttributes[0].Status)
			}
			return err
		})
		events := done[*gamelift.DescribeFleetEventsOutput](h)(h.api.DescribeFleetEvents(h.context(), &gamelift.DescribeFleetEventsInput{FleetId: &fleet}))
		said := false
		for _, e := range events.Events {
			said = said || strings.Contains(*e.Message, "is not in the store: update the script")
		}
		if n := h.host.Counters().StoreDamaged.Load(); !said || n != 2 {
			t.Errorf("%d records are counted, and the events are %+v", n, events.Events)
		}
		done[*gamelift.UpdateScriptOutput](h)(h.api.UpdateScript(h.context(), &gamelift.UpdateScriptInput{ScriptId: &id,
			ZipFile: archive(map[string]string{"lib/main.js": says("two")})}))
		h.untilActive(fleet)
		_, player := h.on(fleet)
		h.hears(player, "two")
	})
}

// With store.skipDamaged, a host removes damaged records from the store, and later starts do not report them.
func TestAHostTakesDamagedRecordsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		change := func(c *host.Config) { c.Store = host.Store{Path: path, SkipDamaged: true} }
		h := startHost(t, change, nil)
		_, fleet := h.scriptFleet(archive(map[string]string{"lib/main.js": says("one")}))
		alias := *done[*gamelift.CreateAliasOutput](h)(h.api.CreateAlias(h.context(), &gamelift.CreateAliasInput{Name: aws.String("rotten"),
			RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &fleet}})).Alias.AliasId
		h.host.Close()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[bytes.Index(text, []byte(`"rotten"`))+1] ^= 1
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}

		h = startHost(t, change, nil)
		h.untilActive(fleet)
		_, player := h.on(fleet)
		h.hears(player, "one")
		if _, err := h.api.DescribeAlias(h.context(), &gamelift.DescribeAliasInput{AliasId: &alias}); err == nil || h.host.Counters().StoreDamaged.Load() != 1 {
			t.Errorf("the alias is there: %v; %d are counted", err, h.host.Counters().StoreDamaged.Load())
		}
		h.host.Close()
		if kept, err := os.ReadFile(path + store.DamagedSuffix); err != nil || !bytes.Contains(kept, []byte(alias)) {
			t.Errorf("the alias is not kept: %s, %v", kept, err)
		}
		h = startHost(t, func(c *host.Config) { c.Store = host.Store{Path: path} }, nil)
		if n := h.host.Counters().StoreDamaged.Load(); n != 0 {
			t.Errorf("%d damaged records are counted after they were taken out", n)
		}
	})
}

// tamper changes a store file. No host may have it open.
func tamper(t *testing.T, path string, changes ...store.Change) {
	t.Helper()
	s, err := store.Open(store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	s.Commit(changes, func(e error) { err = e })
	s.Flush()
	if e := s.Close(); err != nil || e != nil {
		t.Fatal(err, e)
	}
}
