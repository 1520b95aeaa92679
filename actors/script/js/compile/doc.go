// Package compile compiles the source files of a bundle to goja programs. CommonJS modules that goja can
// parse are compiled as they are. Other source (newer syntax, ES modules, TypeScript) is first lowered by
// esbuild. Stack traces and syntax errors show positions in the original source. A file is compiled when it
// is first needed, once for all game sessions.
//
// The package instruments the code. Compiled code polls a yield point at every loop iteration and function
// entry (pauses.go), and reports values that may be large (sizes.go). It passes the source of each direct
// eval to the host, and arrow functions can access arguments (mend.go). Both parsers are recursive, so the
// size and the nesting of source are limited before parsing (nesting.go). The package runs no script.
package compile
