// Package sessionlog keeps the log of each game session (realtime.md 18.1) in rotated files. Each file, the files of a
// game session and all files together are bounded in size; they are kept for some days after the game session's end, and
// the next process finds them again. Store.Open returns the script.Sink of one game session. Its Write copies the line
// into a bounded queue, and one goroutine writes all queues, ten times a second, with few files open at a time. Lines that
// do not fit are dropped and counted, and the log says how many are missing. A disk that fails costs lines, never a game.
//
// Each logged text starts one line of the file: its line breaks are followed by an indent, and its control characters are
// escaped, so a text can neither forge a line nor control the reader's terminal.
//
// Store.Read and Store.Follow read a log while it is written. Two processes may share a folder; each applies the bounds to
// the files that it knows.
package sessionlog
