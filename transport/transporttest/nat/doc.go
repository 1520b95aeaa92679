// Package nat is a network address translator (NAT) between clients and a host on loopback, for tests over
// real sockets. Clients dial its inner address in 127.0.0.0/8, which differs from the host's. Its UDP ports
// equal the host's, because a host tells its players only the port. The host sees the clients at the outer
// address. A test can make the translator behave like real NATs: it drops its UDP mappings and creates new
// ones with another port or another address, or it blocks UDP. TCP is not affected, because many NATs drop
// UDP mappings sooner.
package nat
