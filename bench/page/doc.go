// Package page writes reports as a single HTML file that needs no other files and no network. It holds the styles, the
// plot library, and the shared scripts. bench/result and bench/faults provide the content.
package page
