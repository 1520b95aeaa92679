// Package page writes reports as one HTML file that needs nothing else, no network either: the look, the library of the plots, and
// what its scripts share. bench/result and bench/faults bring the rest.
package page
