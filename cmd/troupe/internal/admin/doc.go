// Package admin prints what the commands of operators list, as tables whose cells cannot control a
// terminal, or as JSON, and draws troupe top: Frame and Text are pure; Watch owns the terminal. It takes keys, asks the host, draws, and
// leaves the terminal as it was, however it ends. The commands themselves call the host; see package main.
package admin
