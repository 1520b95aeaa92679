package catalog

import "troupe/messages"

// PortRange is a range of ports of a host's machine, and what has it, for error texts. Equal names are of one owner.
type PortRange struct {
	Of       string
	From, To int
}

// SharedPorts returns the first range of have and of want that have a port in common, unless they are of one owner. It
// returns false if there are none.
func SharedPorts(have, want []PortRange) (h, w PortRange, shared bool) {
	for _, w := range want {
		for _, h := range have {
			if h.Of != w.Of && h.From <= w.To && h.To >= w.From {
				return h, w, true
			}
		}
	}
	return h, w, false
}

func portRanges(of messages.FleetID, ports []messages.Port) (all []PortRange) {
	for _, p := range ports {
		all = append(all, PortRange{"fleet " + string(of), p.From, p.To})
	}
	return all
}

// Allow returns an error if a fleet of a build may not have some of the ports.
func (r BuildRules) Allow(ports []messages.Port) error {
	for _, p := range ports {
		switch {
		case r.PortFrom == 0:
			return messages.Errorf(messages.InvalidRequest, "EC2InboundPermissions are not available: the operator of this host sets builds.ports")
		case p.From < r.PortFrom || p.To > r.PortTo:
			return messages.Errorf(messages.InvalidRequest, "EC2InboundPermissions has ports %d to %d; its operator allows %d to %d (builds.ports)",
				p.From, p.To, r.PortFrom, r.PortTo)
		}
	}
	return nil
}

// claimPorts checks that no other fleet has or is about to have the new ports of a fleet of a build, which has all of
// ports then. Until release is called, other fleets cannot have them: it must be called when the change is applied or
// refused.
func (c *Catalog) claimPorts(f *messages.Fleet, ports, news []messages.Port) (release func(), err error) {
	if f.BuildID == "" {
		return func() {}, nil
	}
	var have []PortRange
	for id, o := range c.fleets {
		s := o.record.Server
		if s == nil || o.record.Status == messages.FleetTerminated {
			continue
		}
		if s.PortFrom > 0 {
			have = append(have, PortRange{"fleet " + string(id), s.PortFrom, s.PortTo})
		}
		if o.record.BuildID != "" {
			have = append(have, portRanges(id, o.record.Ports)...)
		}
	}
	for id, claimed := range c.claimed {
		have = append(have, portRanges(id, claimed)...)
	}
	if h, w, shared := SharedPorts(have, portRanges(f.ID, news)); shared {
		return nil, messages.Errorf(messages.InvalidRequest, "%s has ports %d to %d of the same machines: choose others than %d to %d", h.Of, h.From, h.To, w.From, w.To)
	}
	c.claimed[f.ID] = ports
	return func() { delete(c.claimed, f.ID) }, nil
}
