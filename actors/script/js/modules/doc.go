// Package modules gives a goja runtime what a Node.js script expects around it:
// require with the resolution of CommonJS inside a bundle, and the built-in modules
// and globals that run without a process of their own. Their sources are embedded,
// compiled once for all runtimes, and run in a runtime only when they are first
// required or touched, so that a game session pays for what it uses. Modules that
// need sockets, processes or threads fail where they are required, with words on
// what to do. Timers, exit and logging belong to the engine, which passes them in.
// Nothing here leaves the bundle: there are no files, networks or processes to reach.
package modules
