// Package sessionlog writes the log of each game session (realtime.md 18.1) to rotated files. There are limits on the
// size of each file, of each game session's files and of all files together. Files are kept for some days after the end
// of the game session. The next process finds them again, while it already serves. A game session has no file until a
// line is logged that the host's own log does not have.
//
// Store.Open returns the script.Sink of one game session. Its Write copies the line into a bounded queue. One goroutine
// writes all queues ten times per second and keeps few files open at a time. Lines that do not fit are dropped and
// counted, and the log says how many lines are missing. A failing disk loses log lines but never affects a game.
//
// Each logged text starts a line of the file. Its own line breaks are followed by an indent, and control characters are
// escaped. Therefore a text can neither forge another log line nor control the reader's terminal.
//
// Store.Read and Store.Follow can read a log while it is being written. Two processes may share a folder. Each of them
// applies the limits to the files that it knows.
package sessionlog
