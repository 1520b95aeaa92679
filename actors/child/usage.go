package child

import "time"

// Usage is what a child and all its descendants use.
type Usage struct {
	RSS       int64         // resident memory in bytes; shared memory is counted once per process
	CPU       time.Duration // CPU time since their start, including ended children
	Processes int
}

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.RSS + v.RSS, u.CPU + v.CPU, u.Processes + v.Processes}
}
