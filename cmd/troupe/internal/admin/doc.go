// Package admin shows what a host has, as tables or as JSON, through the service API
// that game back ends call, too.
package admin
