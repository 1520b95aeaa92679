// Package modules gives a goja runtime what a script for Node.js expects: require, as in CommonJS, for the files of a bundle, and the built-in modules
// and globals that need no process of their own. Their sources are embedded and compiled once for all runtimes. A runtime runs them when its script
// first uses them, so a game session takes memory only for what it uses. To require a module that needs sockets, processes or threads throws an
// error that says what to do. Package js passes in timers, exit and logging. A script reaches nothing outside its bundle: no files, networks or
// processes.
package modules
