// Package ops shows an operator how the host is: /healthz (the process
// answers), /readyz (it takes players), /metrics (Prometheus text from a
// registry of its own). It reads what others count and changes nothing. pprof is
// not served: the host shares its address with the service API.
package ops
