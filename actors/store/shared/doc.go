// Package shared keeps the records of a cluster's leader on the coordinator (docs/spec/cluster.md 3): a Store is a store.Store for one term.
// Commits that wait go out in one transaction, on condition of the term; each replaces the key `seq`, so that an attempt without an answer
// can be repeated until it has succeeded or turns out to have succeeded before. Once another node leads, nothing is written any more.
//
// A Store owns one goroutine, which End or Close ends. It does not elect, does not watch and does not know what the records mean.
package shared
