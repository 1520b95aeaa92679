// Package fault has the points at which a test can have the process fail: be killed,
// panic, or see an error where none is. They exist only in a binary built with the tag
// faults; in any other, Hit is constantly false and costs nothing. What happens where is
// said by the environment variable TROUPE_FAULTS (see Set), or by a test in the process.
package fault
