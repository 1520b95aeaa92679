// Package result is what a benchmark tells: the result with its figures and goals, the file it is kept in, the table for a
// terminal and the page with plots. It names no host, user or path.
package result
