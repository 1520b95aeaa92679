// Package matchmaking runs a rule set of matchmaking over players that were recorded or made up, in virtual time, and reports how long
// they wait and how good their matches are. It is what troupe match simulate does; nothing of a host runs.
package matchmaking
