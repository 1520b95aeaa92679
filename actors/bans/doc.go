// Package bans keeps the list of players that operators have banned for some time. Game sessions consult it at each
// login, including logins that would resume a connection. The list is not an actor, because the logins of all game
// sessions read it and operators seldom change it.
package bans
