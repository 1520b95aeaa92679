// Package pagetest is for the tests of packages that write pages with bench/page: it opens a page in a headless browser and looks for
// errors in its console and for its plots. It knows nothing of what a page shows.
package pagetest
