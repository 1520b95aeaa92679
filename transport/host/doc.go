// Package host assembles one Troupe host: the tree of actors, the listeners, the gateway between them, the
// service API and the operator's pages. Config holds everything that an operator can configure, with
// defaults. The validation of each section is in the file of that section.
//
// A game written in Go uses the package to build its own binary: fill a Config, set NewHandler, call Start.
// The package handles no signals, flags or environment variables, and does not read the configuration file;
// cmd/troupe does.
package host
