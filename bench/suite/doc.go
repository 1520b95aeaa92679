// Package suite holds the workloads of `troupe bench` and the driver that runs them: one table of workloads, one way to
// alternate what is compared, one kind of result. See the package comment of bench for how each figure is made.
//
// A workload compares subjects: servers, or ways of one server. A round measures each of them once, one after the other;
// every second round has the opposite order. A subject is measured in a process of its own that is started for the round,
// unless the host to measure runs already.
//
// The package starts the program that it is part of once more, as a host or as the bare relay, so it can only be used by a
// program that has these commands: Options.Self says how they are called.
package suite
