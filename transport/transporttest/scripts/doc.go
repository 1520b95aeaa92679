// Package scripts plays Realtime scripts on a real host over real sockets, with
// stock clients, in both engines: the examples under docs/scripts, scripts written
// in the styles of those that exist (testdata/catalogue; realtime.md 19.2), and
// checks 58 to 78 of realtime.md 21. It has tests only; nothing imports it.
package scripts
