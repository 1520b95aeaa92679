// Package nat is a network address translator between clients and a host on
// loopback, for tests over real sockets: clients dial its inner address, which is
// another one of 127.0.0.0/8 than the host's with the same port numbers, and the
// host sees them come from the outer address. It can be told to do what NATs do to
// players: forget the mappings of UDP and make new ones, with another port or
// another address, or let no UDP through. TCP goes on meanwhile, as it does where a
// NAT forgets UDP sooner.
package nat
