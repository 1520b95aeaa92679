package node

import "time"

const cpuWindow = 10 * time.Second // the window in which CPU time is limited

// cpuMeter computes the CPU time used within a time window.
type cpuMeter struct {
	window  time.Duration
	samples []cpuSample // begins with the last sample at or before the start of the window
}

type cpuSample struct {
	at  time.Time
	cpu time.Duration
}

// add adds a sample, and returns the CPU time used in the window that ends now.
func (m *cpuMeter) add(now time.Time, cpu time.Duration) time.Duration {
	// Keep a sample only if it is at least a tenth of the window after the previous one.
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
