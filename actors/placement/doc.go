// Package placement keeps queues and placements, and finds a game session for each placement
// (service-api.md 2.8, 2.9 and 3). Ranking is a pure function: it orders the fleets and
// locations that a placement may try. Manager is the actor that owns all queues and
// placements of a host. Its parent, a rebuild.Supervisor, rebuilds it from the store after a crash.
//
//	PENDING -> FULFILLED | CANCELLED | TIMED_OUT | FAILED
//
// A request is answered when its placement's record is durable. A PENDING placement tries
// the candidates in passes: one at every whole second since its start (when the windows of
// latency policies end, too), and one when a process becomes free. All placements of a queue
// that are due share one request to the hosts; the oldest is served first. An attempt
// is a game session that a host launches; a placement has at most one at a time. A placement
// ends in one transaction, which commits its record and its event. The API shows the end only
// after that.
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
