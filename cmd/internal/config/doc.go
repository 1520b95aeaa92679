// Package config turns defaults, a YAML file, the environment and flags into a
// host.Config, each source over the one before. It is the only reader of the
// environment in the tree.
//
// # Keys
//
// A setting's key is its path of `config` tags in host.Config, for example
// reconnect.window. In the file a key is written as sections, one inside the
// other, and spelled exactly:
//
//	reconnect:
//	  window: 10s
//
// In the environment it is TROUPE_ and the key with underscores, in any case:
// TROUPE_RECONNECT_WINDOW=10s. Lists (fleets, aliases) come from the file only,
// and replace the defaults as a whole. The default alias is of the default fleet,
// and the default queue of that alias: a file that sets fleets has neither, and one
// that sets aliases has no default queue.
//
// # Mistakes
//
// Nothing is guessed and nothing is skipped: a key that does not exist, or a
// value of the wrong kind, is an error that names the key and the source, in
// whichever source it stands. All mistakes are reported together. Only variables
// that Kubernetes sets for a service named troupe are a warning.
package config
