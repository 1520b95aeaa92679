// Package admin implements the output of the operator commands. It prints lists as JSON, or as tables whose cells are
// escaped so that they cannot control the terminal. It also implements the display of troupe top. Frame and Text are
// pure functions. Watch owns the terminal: it reads keys, queries the host, draws, and always restores the terminal
// when it ends. Package main calls the host.
package admin
