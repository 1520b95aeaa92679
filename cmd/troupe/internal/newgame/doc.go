// Package newgame writes the folder of a new game: a script, a page that plays it, and a test. The files are
// templates in this package, and a game as it is played; tests play each of them. It starts nothing
// and asks nothing of the network.
package newgame
