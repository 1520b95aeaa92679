// Package pagetest helps to test packages that write pages with bench/page. It opens a page in a headless browser and
// checks that its console has no errors and that its plots are drawn. It does not depend on the content of a page.
package pagetest
