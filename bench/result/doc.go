// Package result defines the result of a benchmark with its figures and goals, and its output: the stored file, the
// table for a terminal, and the page with plots. A result contains no host name, user name or path.
package result
