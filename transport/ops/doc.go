// Package ops serves the operator's pages: /healthz (the process answers), /readyz
// (it takes players), /metrics (Prometheus text from a registry of its own), and the
// logs of game sessions. Logs are served to operators, and to holders of the signed
// URLs that GetGameSessionLogUrl returns. Operators also get pprof and figures of the
// Go runtime, below /debug/, which the host guards. The package reads what other
// packages count and write, and changes nothing, except that it samples blocking and
// contended mutexes while an operator waits for such a profile.
package ops
