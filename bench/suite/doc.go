// Package suite contains the workloads of `troupe bench` and the driver that runs them. All workloads are in one table,
// use the same alternation of subjects, and produce the same kind of result. The package comment of bench explains how
// each figure is measured.
//
// A workload compares subjects: servers, or configurations of one server. A round measures each subject once, one after
// the other. Every second round uses the reverse order. Each subject is measured in a separate process that is started
// for the round, unless the host to measure is already running.
//
// The package starts the current program again, as a host or as the bare relay. It can therefore be used only by a
// program that has these commands; Options.Self gives their command lines.
package suite
