// Package hosttest starts whole hosts for tests, on a network in memory (package memnet): inside a testing/synctest bubble a host, its
// players and its callers share one virtual time, so a test asserts times exactly and waits for nothing. It also works outside of
// bubbles, in real time, for games whose scripts run in processes of Node.js. The stores of its hosts are in memory, unless the test names a folder.
package hosttest
