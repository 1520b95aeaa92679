package server

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// MachineTime is the processor time of the whole machine since it started, over all cores.
type MachineTime struct {
	Busy  time.Duration // anything but idle, waiting for a disk, or stolen
	Steal time.Duration // taken by the hypervisor
	Total time.Duration
}

// MachineNow reads /proc/stat. Busy time that neither the server nor the generator used is what disturbs a measurement.
func MachineNow() (MachineTime, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return MachineTime{}, fmt.Errorf("read machine time: %w", err)
	}
	return parseMachine(b)
}

// parseMachine reads the first line: user nice system idle iowait irq softirq steal (guest times are inside user).
func parseMachine(b []byte) (m MachineTime, err error) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return m, fmt.Errorf("parse machine time: %q", line)
	}
	for i, f := range fields[1:9] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return m, fmt.Errorf("parse machine time: %w", err)
		}
		d := time.Duration(n) * tick
		m.Total += d
		switch i {
		case 3, 4:
		case 7:
			m.Steal += d
		default:
			m.Busy += d
		}
	}
	return m, nil
}
