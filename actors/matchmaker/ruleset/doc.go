// Package ruleset reads FlexMatch rule sets, version 1.0 of the language (flexmatch.md 1 to 10).
//
// Parse validates a body completely and compiles it: names of teams and attributes become indexes, expressions become typed
// trees, and expansions become stages, which hold the values in force from an age on. The result is immutable. The package
// evaluates nothing; actors/matchmaker/match does.
package ruleset
