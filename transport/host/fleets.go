package host

import (
	"fmt"
	"time"

	"troupe/messages"
)

// locationRecords returns the configured locations as records of the registry.

func (c *Config) locationRecords(now time.Time) []messages.Location {
	var all []messages.Location
	for _, l := range c.Locations {
		all = append(all, messages.Location{Name: l.Name, GameSessionsMax: l.GameSessionsMax, Cost: l.Cost, Created: now})
	}
	return all
}

func (c *Config) fleetRecords(now time.Time) []*messages.Fleet {
	var all []*messages.Fleet
	for _, f := range c.Fleets {
		record := &messages.Fleet{
			ID: messages.FleetID(f.ID), Name: f.Name, Description: f.Description, Status: messages.FleetActive, Created: now,
			Locations: []string{c.Region}, GameSessionsMax: f.GameSessionsMax, LaunchParams: f.LaunchParameters,
			Certificates: f.Certificates == certificatesGenerated, ReconnectWindow: f.window(),
			ScriptID: f.scriptID(), LaunchPath: f.launchPath(), Engine: f.Engine, Standby: f.standby(), Cost: f.Cost,
		}
		if f.Server.Path != "" {
			record.Server = f.Server.record()
			record.LaunchPath, record.LaunchParams = record.Server.Path, record.Server.Parameters()
			record.GameSessionsMax = 0 // that follows from the processes
			record.Runtime.Processes = []messages.ServerProcess{{LaunchPath: record.LaunchPath, Parameters: record.LaunchParams, Concurrent: f.Server.Processes}}
		}
		costs := make(map[string]float64)
		for _, l := range f.Locations {
			if l.Name != c.Region {
				record.Locations = append(record.Locations, l.Name)
			}
			if l.Cost > 0 {
				costs[l.Name] = l.Cost
				record.Costs = costs
			}
		}
		all = append(all, record)
	}
	return all
}

func (c *Config) aliasRecords(now time.Time) []*messages.Alias {
	var all []*messages.Alias
	for _, a := range c.Aliases {
		all = append(all, &messages.Alias{ID: messages.AliasID(a.ID), Name: a.Name, FleetID: messages.FleetID(a.Fleet), Message: a.Message, Created: now})
	}
	return all
}

func (v *checks) locations(c *Config) {
	known := map[string]bool{c.Region: true}
	seen := map[string]bool{}
	for i, l := range c.Locations {
		key := fmt.Sprintf("locations[%d]", i)
		v.that(key+".name", regionForm().MatchString(l.Name) && !messages.CustomLocation(l.Name), "must be 1 to 64 letters, digits and hyphens, and not begin with custom-")
		v.once(seen, key+".name", l.Name)
		v.that(key+".gameSessionsMax", l.GameSessionsMax >= 0, "must not be negative; 0 is no bound")
		v.that(key+".cost", l.Cost >= 0, "must not be negative")
		known[l.Name] = true
	}
	for i, f := range c.Fleets {
		key := fmt.Sprintf("fleets[%d]", i)
		v.that(key+".cost", f.Cost >= 0, "must not be negative")
		seen := map[string]bool{}
		for j, l := range f.Locations {
			key := fmt.Sprintf("%s.locations[%d]", key, j)
			v.that(key+".name", known[l.Name], "must be region or one of locations")
			v.once(seen, key+".name", l.Name)
			v.that(key+".cost", l.Cost >= 0, "must not be negative")
		}
	}
}

// window returns the fleet's own reconnect window, or nil if the window of the host applies.
func (f *Fleet) window() *time.Duration {
	d, err := time.ParseDuration(f.ReconnectWindow)
	if err != nil { // the text is empty: Validate rejects invalid texts
		return nil
	}
	return &d
}

func (v *checks) fleets(c *Config) {
	v.that("fleets", len(c.Fleets) > 0, "must name at least one fleet")
	seen := map[string]bool{}
	for i, f := range c.Fleets {
		key := fmt.Sprintf("fleets[%d]", i)
		v.that(key+".id", fleetForm().MatchString(f.ID), "must be fleet- and letters, digits, hyphens")
		v.once(seen, key+".id", f.ID)
		v.that(key+".gameSessionsMax", f.GameSessionsMax >= 1 || f.GameSessionsMax == 0 && f.Server.Path != "", "must be at least 1")
		if f.ReconnectWindow != "" {
			w, err := time.ParseDuration(f.ReconnectWindow)
			v.that(key+".reconnectWindow", err == nil && w >= 0 && w <= windowMax, "must be 0s to 600s, or empty")
		}
	}
	for i, a := range c.Aliases {
		key := fmt.Sprintf("aliases[%d]", i)
		v.that(key+".id", aliasForm().MatchString(a.ID), "must be alias- and letters, digits, hyphens")
		v.that(key, (a.Fleet == "") != (a.Message == ""), "must have either a fleet or a message")
		v.that(key+".fleet", a.Fleet == "" || seen[a.Fleet], "must be one of fleets")
		v.once(seen, key+".id", a.ID)
	}
}
