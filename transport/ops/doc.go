// Package ops shows an operator how the host is: /healthz (the process
// answers), /readyz (it takes players), /metrics (Prometheus text from a
// registry of its own), and the logs of game sessions: by signed URL, which is what
// GetGameSessionLogUrl answers, and to operators. It reads what others count and
// write, and changes nothing. pprof is not served: the host shares its address with
// the service API.
package ops
