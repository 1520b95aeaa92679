package catalog

import (
	"slices"

	"troupe/actors/stage"
	"troupe/messages"
)

// onUpdatePorts changes the port ranges in a fleet's settings. They are only stored and shown,
// because the host opens no ports for them.
func (c *Catalog) onUpdatePorts(m stage.Request[messages.UpdatePorts, *messages.Fleet]) {
	c.changeFleet(m.Request.FleetID, nil, m.Reply, func(f *fleet) (fleetChange, error) {
		ports, err := changedPorts(f.record.Ports, m.Request)
		return fleetChange{set: func(n *messages.Fleet, _ *events) { n.Ports = ports }}, err
	})
}

// changedPorts returns the port ranges after an update, which removes before it adds.
func changedPorts(had []messages.Port, q messages.UpdatePorts) ([]messages.Port, error) {
	ports := slices.Clone(had)
	for _, p := range q.Remove {
		i := slices.Index(ports, p)
		if i < 0 {
			return nil, messages.Errorf(messages.InvalidRequest, "the fleet has no %s ports %d to %d for %s", p.Protocol, p.From, p.To, p.Range)
		}
		ports = slices.Delete(ports, i, i+1)
	}
	for _, p := range q.Add {
		if slices.Contains(ports, p) {
			return nil, messages.Errorf(messages.Conflict, "the fleet has the %s ports %d to %d for %s already", p.Protocol, p.From, p.To, p.Range)
		}
		ports = append(ports, p)
	}
	if len(ports) > portsMax {
		return nil, messages.Errorf(messages.LimitExceeded, "a fleet has at most %d port ranges", portsMax)
	}
	return ports, nil
}
