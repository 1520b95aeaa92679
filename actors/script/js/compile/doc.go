// Package compile turns the source files of a bundle into goja programs: CommonJS modules as they are, and what the engine cannot parse (newer
// syntax, ES modules, TypeScript) lowered by esbuild. Stacks and syntax errors have the positions of the original. A file is compiled when it is
// first needed, once for all game sessions. The code asks in each turn of a loop and at each start of a function whether it should wait (pauses.go),
// reports what may be large (sizes.go), shows the host the source of direct evals, and lets arrow functions see arguments (mend.go). Both parsers
// recurse, so the size and the nesting of source are bounded before any parser sees it (nesting.go). The package runs no script.
package compile
