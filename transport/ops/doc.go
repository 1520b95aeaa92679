// Package ops serves the operator's pages: /healthz (the process answers), /readyz
// (it takes players), /metrics (Prometheus text from a registry of its own), and the
// logs of game sessions. Logs are served to operators, and to holders of the signed
// URLs that GetGameSessionLogUrl returns. The package reads what other packages
// count and write, and changes nothing. It does not serve pprof, because the pages
// share their address with the service API.
package ops
