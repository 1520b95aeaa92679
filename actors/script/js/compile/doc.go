// Package compile turns the source files of a bundle into goja programs: CommonJS
// modules as they are, and whatever the engine cannot parse (newer syntax, ES
// modules, TypeScript) lowered by esbuild, with positions of the original in stacks
// and in syntax errors. A file is compiled when first asked for and once, for all
// game sessions. The code that comes out looks in each turn of a loop and at each start
// of a function whether it should wait (pauses.go), hands over what a direct eval is to
// evaluate, and has arrow functions see arguments (mend.go). Source is bounded in size and in
// nesting before any parser sees it, because both parsers recurse. The package runs
// nothing.
package compile
