// Package fault provides failpoints: points in the code at which a test can make the process be killed, panic, or treat
// an operation as failed. They exist only in a binary built with the tag faults. In any other binary Hit always returns
// false and costs nothing. The environment variable TROUPE_FAULTS (see Set), or a test in the process, determines what
// happens at which point.
package fault
