// Package top draws what a host does, again and again: its busiest game sessions and players. Frame and Text are pure;
// Watch owns the terminal: it takes keys, asks the host, draws, and leaves the terminal as it was, however it ends. What the host
// says is drawn without control characters, because names come from outside.
package top
