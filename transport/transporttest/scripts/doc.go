// Package scripts plays Realtime scripts on a real host over real sockets, with
// stock clients, in both engines: the examples under docs/scripts, scripts written
// in the styles of those that exist (testdata/catalogue; realtime.md 19.2), and
// RT-58 to RT-78. It has tests only; nothing imports it.
package scripts
