// Package host puts one Troupe host together: the tree of actors, the listeners,
// the gateway between them, the service API and the operator's pages. Config is
// everything an operator may choose, with its defaults and its checks; Host
// starts, drains and stops.
//
// It is also how a Go game builds its own binary: fill a Config, name a
// NewHandler, Start. The package reads no files, flags or environment and
// handles no signals; cmd/troupe does.
package host
