// Package acceptance holds the acceptance tests of the whole host: each test starts
// one with transport/host, and plays on it with stock clients, the SDK's client and
// the AWS SDK. What a test here proves is what a player or an operator sees. Tests
// that look inside are in the package they look into.
//
// Nearly all run in virtual time, over a network in memory: times are exact, and a
// minute costs nothing. A few start a host on the operating system's network
// (onSystem), because they need another program, or a script that computes.
package acceptance
