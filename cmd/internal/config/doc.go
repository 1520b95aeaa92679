// Package config builds a host.Config from defaults, a YAML file, the environment and flags. Each source overrides the
// previous ones. No other package reads settings from the environment.
//
// # Keys
//
// A setting's key is its path of `config` tags in host.Config, for example reconnect.window. In the file a key is
// written as nested sections and spelled exactly:
//
//	reconnect:
//	  window: 10s
//
// In the environment, the name of a setting is TROUPE_ followed by the key with underscores, in any case:
// TROUPE_RECONNECT_WINDOW=10s. In the environment and in flags, a list (fleets, aliases) is JSON. A list replaces the
// default list. The default alias refers to the default fleet, and the default queue to that alias. Therefore, if a
// source sets fleets, there are no default aliases and queues. If it sets aliases, there are no default queues. If it
// sets any of the three, there is no default matchmaking configuration.
//
// # Mistakes
//
// An unknown key, or a value of the wrong kind, is an error in every source. The error names the key and the source.
// All mistakes are reported together. Environment variables that Kubernetes sets for a service named troupe only cause
// a warning.
package config
