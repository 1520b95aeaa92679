// Package clustertest contains a coordinator in memory, and the checks that every coordinator must pass. It can inject
// faults of the store and of each host's connection to it. In a synctest bubble, leases use virtual time. The records
// exist only as long as their Store.
package clustertest
