// Package bans keeps the players that an operator keeps out for a time. Game sessions ask it at
// each login, also at one that would resume. It has no actor: logins of all game sessions read it,
// and operators seldom change it.
package bans
