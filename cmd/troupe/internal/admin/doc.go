// Package admin prints what the commands of operators list, as tables whose cells cannot control a
// terminal, or as JSON. The commands themselves call the host; see package main.
package admin
