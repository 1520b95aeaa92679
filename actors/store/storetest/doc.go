// Package storetest has a store for tests of the actors that keep records.
package storetest
