// Package nat is a network address translator between clients and a host on
// loopback, for tests over real sockets. Clients dial its inner address in 127.0.0.0/8,
// which differs from the host's. Its UDP ports are those of the host, because a host tells
// its players no more than the port. The host sees them at the outer address. A test can
// make it behave as NATs do: it forgets its UDP mappings and makes new ones, with another
// port or another address, or it blocks UDP. TCP goes on meanwhile, because many NATs
// forget UDP sooner.
package nat
