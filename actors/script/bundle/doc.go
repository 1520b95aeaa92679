// Package bundle holds the files of one version of a script, from a zip archive, a
// folder or a single file, checked and bounded. A Bundle is immutable and shared by
// all game sessions that run it. The package neither compiles nor runs anything.
package bundle
