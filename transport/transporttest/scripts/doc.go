// Package scripts runs Realtime scripts on a real host with stock clients, in both engines. It covers the
// examples in docs/scripts, scripts in the styles of existing ones (testdata/catalogue; realtime.md 19.2),
// and RT-58 to RT-78. It has only tests; nothing imports it.
package scripts
