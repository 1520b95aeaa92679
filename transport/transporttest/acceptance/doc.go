// Package acceptance has the acceptance tests of the complete host. Each test starts a host with
// transport/host, and uses it with stock clients, the SDK's client and the AWS SDK. The tests check what
// players and operators can observe. Tests of internals are in the packages they test.
//
// Nearly all tests run in virtual time over an in-memory network, so times are exact and waiting costs
// nothing. A few start a host on the operating system's network (onSystem), because they need another
// program, or a script that computes.
package acceptance
