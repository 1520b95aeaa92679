package memnet

import (
	"flag"
	"math/rand/v2"
)

var seedFlag = flag.Uint64("transport.seed", 0, "seed of the simulated network; 0 takes a new one for every test")

// Reporter is the part of testing.TB that Seed needs.
type Reporter interface {
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
}

// Seed returns the seed of the flag -transport.seed, or a random one. If the test fails, it logs the seed.
func Seed(tb Reporter) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the network's seed: -transport.seed=%d", seed)
		}
	})
	return seed
}
