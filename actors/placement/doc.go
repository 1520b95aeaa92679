// Package placement finds game sessions for requests: it keeps queues and placements
// (service-api.md 2.8, 2.9 and 3). Ranking is the pure part: which fleets and locations a
// placement may try at a moment, in which order. Manager is the actor that owns all
// queues and placements of a host, and Supervisor its parent, which replaces it, rebuilt
// from the store, should it crash.
//
//	PENDING -> FULFILLED | CANCELLED | TIMED_OUT | FAILED
//
// A placement is answered when its record is durable. While it is PENDING, it passes over
// the candidates at every whole second since its start, and when a process becomes free;
// the windows of latency policies end at whole seconds, too. All placements of a queue
// that are due share one question to the registry, and those that started first are served
// first. An attempt is a game session that the registry launches; at most one per
// placement lives at a time. A placement ends in one commit, of the record and its event;
// only then anybody sees it.
//
// The way of a placement, from the request to the event:
//
//	StartGameSessionPlacement (HTTP)      transport/serviceapi
//	  -> Manager.onStart                  validate, transaction of the ledger
//	  -> record PENDING durable           the HTTP answer; Manager.begin
//	  -> Manager.ask                      fleet.Candidates: one question per queue
//	  -> Manager.try                      Ranking.Order; the next destination with room
//	  -> fleet.Launch                     game session stored; its game starts
//	  -> Manager.onActivated              or the next candidate, if the game does not start
//	  -> messages.CreatePlayerSessions    if the request names players
//	  -> Manager.end                      record FULFILLED and its event, one transaction
//	  -> durable                          shown to the API; Options.OnEvent
//	  -> events.Dispatcher.Post           webhooks, files, GET /events
//
// The package does not know game sessions, players or the wire, and delivers no events.
package placement
