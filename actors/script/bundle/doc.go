// Package bundle reads the files of one version of a script from a zip archive, a directory or a single file.
// It checks the files and enforces limits. A Bundle is immutable and shared by all game sessions that run it.
// The package neither compiles nor runs anything.
package bundle
