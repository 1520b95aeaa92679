// Package placement keeps queues and placements, and finds a game session for each placement (service-api.md
// 2.8, 2.9, 3). Ranking is a pure function of what a placement may try. Manager is the actor that owns all
// of a host's. Its parent, a rebuild.Supervisor, rebuilds it from the store after a crash.
//
//	PENDING -> FULFILLED | CANCELLED | TIMED_OUT | FAILED
//
// A request is answered when its placement's record is durable. A PENDING placement tries the candidates in passes: at
// every whole second since its start (and at the ends of latency policies), and when a process becomes free. All placements
// of a queue that are due share one request to the hosts, the oldest first. An attempt is a game session that a host
// launches; a placement has one at a time. It ends in one transaction, with its event; the API shows the end after that.
//
// A placement, from the request to the event:
//
//	StartGameSessionPlacement (HTTP)      transport/serviceapi
//	  -> Manager.onStart                  validate, transaction of the ledger
//	  -> record PENDING durable           the HTTP answer; Manager.begin
//	  -> Manager.ask                      messages.Candidates: one request per queue
//	  -> Manager.try                      Ranking.Order; the next destination with room
//	  -> messages.Launch                  game session stored; its game starts
//	  -> Manager.onActivated              or the next candidate, if the game does not start
//	  -> messages.CreatePlayerSessions       if the request names players
//	  -> Manager.end                      record FULFILLED and its event, one transaction
//	  -> durable                          shown to the API; Options.OnEvent
//	  -> events.Dispatcher.Post           webhooks, files, GET /events
//
// The package does not know game sessions, players or the wire, and delivers no events.
package placement
