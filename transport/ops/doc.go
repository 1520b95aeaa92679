// Package ops serves the operator's pages: /healthz (the process responds), /readyz (the host accepts
// players), /metrics, and the logs of game sessions. Logs are for operators and for holders of the signed
// URLs that GetGameSessionLogUrl returns. For operators there are also pprof and figures of the Go runtime
// below /debug/; the host guards that path. The package only reads what other packages count and write.
package ops
