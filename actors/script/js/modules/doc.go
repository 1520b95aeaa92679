// Package modules provides a goja runtime with what a script for Node.js expects: a CommonJS require for the
// files of a bundle, and those built-in modules and globals that can be implemented inside the runtime. The
// JavaScript sources are embedded, and compiled once for all runtimes. A runtime runs a source when its
// script first uses it, so a game session needs memory only for the modules that it uses. Requiring a module
// that needs sockets, processes or threads throws an error that tells what to do. Package js passes in
// timers, exit and logging. A script can reach nothing outside its bundle: no files, networks or processes.
package modules
