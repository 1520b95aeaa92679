// Package report is what the benchmark commands share when they tell their results: the machine line, the small
// statistics, and the JSON file. It names no host, user or path.
package report
