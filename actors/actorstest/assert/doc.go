// Package assert has the checks that most tests make, one line each: a failure names the value, and says what it is
// and what it should be. Checks that only one package needs stay in that package. It depends on no other package, so
// that tests inside of every package of actors can use it.
package assert
