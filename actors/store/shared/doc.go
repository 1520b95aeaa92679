// Package shared stores the records of a cluster's leader on the coordinator (docs/spec/cluster.md 3). A Store is a
// store.Store for one term. It writes waiting commits in one transaction, on condition of the term. Each transaction
// replaces the key `seq`. Therefore an attempt without an answer can be repeated until an attempt succeeds, or until
// `seq` shows that an earlier one did. Once another node leads, the Store writes nothing.
//
// A commit that does not fit in one transaction is recorded as a whole before its first transaction (see large.go).
//
// A Store owns one goroutine, which ends after End or Close. It does not elect leaders, does not watch for changes, and
// does not interpret the records.
package shared
