// Package acceptance holds the acceptance tests of the whole host: each test starts
// one with transport/host, over real sockets on loopback, and plays on it with stock
// clients, the SDK's client and the AWS SDK. What a test here proves is what a player
// or an operator sees. Tests that look inside are in the package they look into.
package acceptance
