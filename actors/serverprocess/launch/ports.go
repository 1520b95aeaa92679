package launch

// ports are those of a fleet on this host, for all its locations and configurations. They belong to the Launcher's loop.
type ports struct {
	from, n int // n is 0 if the fleet has none
	next    int // offset of the port to try first: a port rests after its use
	taken   map[int]bool
}

// set sets the range. Ports that processes have stay with them.
func (p *ports) set(from, n int) {
	if p.taken == nil {
		p.taken = make(map[int]bool)
	}
	if from != p.from || n != p.n {
		p.from, p.n, p.next = from, n, 0
	}
}

// take returns the port that was free for longest. It returns false if none is free, and 0 if the
// fleet has none.
func (p *ports) take() (int, bool) {
	for range p.n {
		port := p.from + p.next
		p.next = (p.next + 1) % p.n
		if !p.taken[port] {
			p.taken[port] = true
			return port, true
		}
	}
	return 0, p.n == 0
}

func (p *ports) release(port int) { delete(p.taken, port) }
