// Package sessionlog keeps the log of each game session (realtime.md 18.1) as
// files that rotate: a few per game session, bounded in size each and all
// together, kept for some days after the game session's end, and found again by
// the next process. Store.Open gives the script.Sink of one game session. Its
// Write copies the line into a bounded queue; one goroutine for all game sessions
// writes what has gathered, ten times a second, with few files open at a time.
// What a game session logs faster than that is dropped and counted, and its log
// says how many lines are missing. A disk that is full, or a folder that cannot
// be written, costs log lines and one warning, never a game.
//
// A line of the log is one line of the file: line breaks in a text are followed by
// an indent, and control characters are spelled out, so that nobody who can get a
// text into a log can forge a line or speak to the reader's terminal.
//
// Store.Read and Store.Follow read a log while it is written. Two processes may
// share a folder: each keeps to the bounds for what it knows of.
package sessionlog
