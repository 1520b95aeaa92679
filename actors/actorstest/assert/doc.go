// Package assert provides the checks that most tests need, as one-line calls. An error message names the value and
// shows the actual and the expected value. A check that only one package needs stays in that package. The package
// depends on no other package, so that the internal tests of every package below actors can use it.
package assert
