// Package ops serves the operator's pages: /healthz (the process answers), /readyz (it takes players), /metrics, and the logs of game
// sessions, to operators and to holders of the signed URLs that GetGameSessionLogUrl returns. Operators also get pprof and figures of the
// Go runtime, below /debug/, which the host guards. The package reads what other packages count and write.
package ops
