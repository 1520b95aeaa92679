package node

import "time"

// usage is what a child and all that descends from it use.
type usage struct {
	rss       int64         // resident memory in bytes; what they share counts for each
	cpu       time.Duration // since their start, ended children included
	processes int
}

func (u usage) plus(v usage) usage {
	return usage{u.rss + v.rss, u.cpu + v.cpu, u.processes + v.processes}
}

const cpuWindow = 10 * time.Second // the time over which processor time is bounded

// cpuMeter tells how much processor time was used within a window.
type cpuMeter struct {
	window  time.Duration
	samples []cpuSample // from the last at or before the window's start on
}

type cpuSample struct {
	at  time.Time
	cpu time.Duration
}

// add takes a sample and returns what was used in the window that ends with it.
func (m *cpuMeter) add(now time.Time, cpu time.Duration) time.Duration {
	// A sample is kept if it is a tenth of the window after the one before.
	if n := len(m.samples); n == 0 || now.Sub(m.samples[n-1].at) >= m.window/10 {
		m.samples = append(m.samples, cpuSample{now, cpu})
	}
	for len(m.samples) > 1 && now.Sub(m.samples[1].at) >= m.window {
		m.samples = m.samples[1:]
	}
	if first := m.samples[0]; now.Sub(first.at) >= m.window {
		return cpu - first.cpu
	}
	return cpu
}
