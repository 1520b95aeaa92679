// Package storetest provides a store for tests of actors that store records. The store is in memory. A test can make it
// fail, delay its commits like a slow disk, or lose pending commits like the end of a process. The guarantees of the
// real store are tested in package store.
package storetest
