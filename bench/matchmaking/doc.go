// Package matchmaking simulates matchmaking: it runs a rule set over recorded or generated players in virtual time and
// reports how long they wait and how good their matches are. It implements troupe match simulate and does not start a
// host.
package matchmaking
