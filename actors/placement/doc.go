// Package placement manages queues and placements and finds a game session for each placement (service-api.md 2.8, 2.9,
// 3). Ranking is a pure function that orders the candidates for a placement. Manager is the actor that owns all queues
// and placements of a host. Its parent, a rebuild.Supervisor, rebuilds it from the store after a crash.
//
//	PENDING -> FULFILLED | CANCELLED | TIMED_OUT | FAILED
//
// A request is answered when the record of its placement is durable. A PENDING placement tries the candidates in
// passes. A pass is made at every whole second since the placement's start, at the ends of latency policies, and when a
// process becomes free. All placements of a queue that are due share one request to the hosts; the oldest placement
// comes first. An attempt is a game session that a host launches. A placement has at most one attempt at a time. A
// placement ends in one transaction, together with its event. The API shows the end afterwards.
//
// The steps of a placement, from the request to the event:
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
// The package does not know the internals of game sessions, players or the wire format, and it does not deliver events.
package placement
