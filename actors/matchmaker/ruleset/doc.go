// Package ruleset reads FlexMatch rule sets, version 1.0 of the language (flexmatch.md 1 to 10).
//
// Parse validates a body completely and compiles it: names of teams and attributes become indexes, expressions become typed
// trees, and expansions become stages, which hold the values in force from an age on. The result is immutable. The package
// evaluates nothing; actors/matchmaker/match does.
//
//	parse.go       the document, attributes, teams, the algorithm block
//	rules.go       properties of the rules
//	expr.go        property expressions: syntax and types
//	compound.go    statements of compound rules
//	expansion.go   expansions and stages
package ruleset
