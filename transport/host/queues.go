package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/actors/placement"
	"troupe/messages"
	"troupe/messages/lazy"
)

// Queue is a queue with the settings of the service API (service-api.md 2.8). If the store has a queue of the
// same name, that takes precedence.
type Queue struct {
	Name         string        `config:"name" level:"common"`         // name of letters, digits and hyphens
	Timeout      time.Duration `config:"timeout"`                     // how long a placement may wait, 10s to 600s
	Destinations []string      `config:"destinations" level:"common"` // ids of fleets and aliases, best first
	// LatencyPolicies are the policies that apply one after the other, by increasing maximum.
	LatencyPolicies  []LatencyPolicy `config:"latencyPolicies"`
	AllowedLocations []string        `config:"allowedLocations"` // locations that placements may use; empty: all
	// PriorityOrder is the order of the criteria that decide between destinations: LATENCY, COST, DESTINATION
	// and LOCATION. LOCATION needs locationOrder.
	PriorityOrder   []string `config:"priorityOrder"`
	LocationOrder   []string `config:"locationOrder"`   // locations, best first, for LOCATION in priorityOrder
	CustomEventData string   `config:"customEventData"` // text in each event of a placement
	// ARN of a topic, matched by the targets of event sinks
	NotificationTarget string `config:"notificationTarget"`
}

// LatencyPolicy limits the latency that players have reported for a location.
type LatencyPolicy struct {
	Maximum  int           `config:"maximum"`  // maximum latency in ms
	Duration time.Duration `config:"duration"` // how long the policy applies, in whole seconds; 0: until the timeout
}

var (
	queueForm  = lazy.Regexp(`\A[A-Za-z0-9-]{1,128}\z`)
	targetForm = lazy.Regexp(`\A[a-zA-Z0-9:_-]{0,300}(\.fifo)?\z`)
	priorities = []string{
		string(messages.PriorityLatency), string(messages.PriorityCost), string(messages.PriorityDestination), string(messages.PriorityLocation),
	}
)

func (v *checks) queues(c *Config) {
	seen := map[string]bool{}
	for i := range c.Queues {
		q, key := &c.Queues[i], fmt.Sprintf("queues[%d]", i)
		v.that(key+".name", queueForm().MatchString(q.Name), "must be 1 to 128 letters, digits and hyphens")
		v.once(seen, key+".name", q.Name)
		v.that(key+".timeout", q.Timeout >= 10*time.Second && q.Timeout <= 600*time.Second && q.Timeout%time.Second == 0, "must be 10s to 600s, in whole seconds")
		v.that(key+".destinations", len(q.Destinations) <= 20 && !repeats(q.Destinations), "may be 20, each once")
		for j, d := range q.Destinations {
			v.that(fmt.Sprintf("%s.destinations[%d]", key, j), fleetForm().MatchString(d) || aliasForm().MatchString(d), "must be the id of a fleet or an alias")
		}
		v.policies(key, q.LatencyPolicies)
		v.priorities(key, q)
		v.that(key+".customEventData", len(q.CustomEventData) <= 256, "may have 256 bytes")
		v.that(key+".notificationTarget", targetForm().MatchString(q.NotificationTarget), "must be letters, digits, colons, hyphens and underscores")
	}
}

func (v *checks) policies(key string, all []LatencyPolicy) {
	endless := 0
	for i, p := range all {
		key := fmt.Sprintf("%s.latencyPolicies[%d]", key, i)
		v.that(key+".maximum", p.Maximum >= 0, "must not be negative")
		v.that(key+".duration", p.Duration >= 0 && p.Duration%time.Second == 0, "must be whole seconds")
		if p.Duration == 0 {
			endless++
			higher := slices.ContainsFunc(all, func(o LatencyPolicy) bool { return o.Maximum > p.Maximum })
			v.that(key+".duration", endless == 1 && !higher, "may be 0 in one, that with the highest maximum")
		}
	}
}

func (v *checks) priorities(key string, q *Queue) {
	for i, p := range q.PriorityOrder {
		v.that(fmt.Sprintf("%s.priorityOrder[%d]", key, i), slices.Contains(priorities, p), "must be one of "+strings.Join(priorities, ", "))
	}
	v.that(key+".priorityOrder", !repeats(q.PriorityOrder), "has something twice")
	v.that(key+".locationOrder", !repeats(q.LocationOrder), "has something twice")
	v.that(key+".locationOrder", len(q.LocationOrder) > 0 || !slices.Contains(q.PriorityOrder, string(messages.PriorityLocation)),
		"is needed where priorityOrder has LOCATION")
	for list, names := range map[string][]string{"locationOrder": q.LocationOrder, "allowedLocations": q.AllowedLocations} {
		v.that(key+"."+list, len(names) <= 100, "may be 100")
		for i, name := range names {
			v.that(fmt.Sprintf("%s.%s[%d]", key, list, i), regionForm().MatchString(name), "must be letters, digits and hyphens")
		}
	}
}

func repeats(list []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(list)))) < len(list)
}

func (c *Config) placements(now time.Time) placement.Options {
	o := placement.Options{Region: c.Region, Account: c.Account}
	for _, q := range c.Queues {
		record := &messages.Queue{
			Name: messages.QueueName(q.Name), Timeout: q.Timeout, CustomEventData: q.CustomEventData, Notify: q.NotificationTarget, Created: now,
		}
		for _, id := range q.Destinations {
			kind, account := "fleet", c.Account
			if aliasForm().MatchString(id) {
				kind, account = "alias", ""
			}
			record.Destinations = append(record.Destinations, fmt.Sprintf("arn:aws:gamelift:%s:%s:%s/%s", c.Region, account, kind, id))
		}
		for _, p := range q.LatencyPolicies {
			record.Policies = append(record.Policies, messages.LatencyPolicy{Max: p.Maximum, Duration: p.Duration})
		}
		if len(q.AllowedLocations) > 0 { // nil means all locations
			record.AllowedLocations = q.AllowedLocations
		}
		p := messages.QueuePriority{Locations: q.LocationOrder}
		for _, key := range q.PriorityOrder {
			p.Order = append(p.Order, messages.Priority(key))
		}
		record.SetPriority(p)
		o.Queues = append(o.Queues, record)
	}
	return o
}

func defaultQueue() Queue {
	return Queue{
		Name: "queue-dev", Timeout: 600 * time.Second, Destinations: []string{"alias-dev"},
		LatencyPolicies: []LatencyPolicy{}, AllowedLocations: []string{}, PriorityOrder: []string{}, LocationOrder: []string{},
	}
}
