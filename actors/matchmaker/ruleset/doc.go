// Package ruleset parses FlexMatch rule sets, version 1.0 of the language (flexmatch.md 1 to 10).
//
// Parse validates the text completely and compiles it: names of teams and attributes become indexes,
// expressions become typed trees, and expansions become stages. A stage contains the values in force from a
// certain age on. The result is immutable. This package does not evaluate rules; actors/matchmaker/match
// does.
package ruleset
