// Package storetest has a store for tests of the actors that keep records: it is in memory, and a test breaks it, holds
// commits back as a slow disk does, and loses what waits as the end of a process does. What the real store promises is
// tested in package store.
package storetest
