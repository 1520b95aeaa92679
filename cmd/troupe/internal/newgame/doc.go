// Package newgame writes the folder of a new game: a script, a page that plays it, and a test. The files come from
// templates in this package. Tests play the games that result. The package starts no processes and does not use the
// network.
package newgame
