package catalog

import (
	"strings"

	"troupe/actors/store"
	"troupe/messages"
)

// CheckDestinations answers the request of that name.
func (c *Catalog) CheckDestinations(destinations []string) error {
	with, without := false, false
	for _, arn := range destinations {
		id := arn[strings.LastIndexByte(arn, '/')+1:]
		fleet := messages.FleetID(id)
		if strings.HasPrefix(id, "alias-") {
			a := c.aliases[messages.AliasID(id)]
			if a == nil {
				return c.unknown(store.Alias, id)
			}
			fleet = a.FleetID // "" if it is TERMINAL; the fleet may be deleted
		}
		f := c.fleets[fleet]
		switch {
		case f == nil && fleet == messages.FleetID(id):
			return c.unknown(store.Fleet, id)
		case f == nil:
		case fleet == messages.FleetID(id) && (f.record.Status == messages.FleetDeleting || f.record.Status == messages.FleetTerminated):
			return messages.Errorf(messages.InvalidRequest, "fleet %s is %s", id, f.record.Status)
		case f.record.Certificates:
			with = true
		default:
			without = true
		}
	}
	if with && without {
		return messages.Errorf(messages.InvalidRequest, "the fleets of a queue must all have certificates, or none of them")
	}
	return nil
}
