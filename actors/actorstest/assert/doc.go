// Package assert has the checks that most tests make.
package assert
