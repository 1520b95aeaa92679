// Package cgroup knows how Linux shows control groups of versions 1 and 2. Who makes groups, and for what, is elsewhere:
// limits of game servers (actors/serverprocess/launch), those of hosts under test (bench/faults/cgroup), and the
// host's own (transport/host). On other systems there are no such files.
package cgroup
