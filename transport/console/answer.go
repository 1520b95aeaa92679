package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/messages"
)

// problem is an error response: an HTTP status, a code for programs, and a sentence.
type problem struct {
	status  int
	code    string
	message string
	node    string // the node of a cluster that refuses, if it is not this one
}

func (c *Console) write(w http.ResponseWriter, p *problem) {
	writeJSON(w, p.status, shownProblem{p.code, p.message, cmp.Or(p.node, c.nodeName())})
}

type shownProblem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Node    string `json:"node,omitempty"` // empty without a cluster
}

func invalid(format string, args ...any) *problem {
	return refusal(http.StatusBadRequest, "BadRequest", fmt.Sprintf(format, args...))
}

func refusal(status int, code, message string) *problem {
	return &problem{status: status, code: code, message: message}
}

func refused(err error) *problem {
	var e *messages.Error
	switch {
	case errors.As(err, &e):
		status := http.StatusBadRequest
		switch e.Code {
		case messages.NotFound:
			status = http.StatusNotFound
		case messages.Unavailable:
			status = http.StatusServiceUnavailable
		case messages.Internal:
			status = http.StatusInternalServerError
		case messages.Conflict, messages.InvalidGameSessionStatus:
			status = http.StatusConflict
		}
		p := refusal(status, codeOf(e.Code), err.Error())
		if from := (*messages.FromNode)(nil); errors.As(err, &from) {
			p.node = from.Node
		}
		return p
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return refusal(http.StatusServiceUnavailable, "TooSlow", "the host did not answer in time")
	}
	return refusal(http.StatusInternalServerError, "Internal", err.Error())
}

// codeOf returns an error code as one word, such as NotFound.
func codeOf(c messages.ErrorCode) (name string) {
	for word := range strings.FieldsSeq(c.String()) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

func answer(w http.ResponseWriter, v any) *problem {
	writeJSON(w, http.StatusOK, v)
	return nil
}

// answerAsked sends a request to the Backend and writes the answer, converted by show.
func answerAsked[A, S any](c *Console, w http.ResponseWriter, r *http.Request, q messages.RequestOf[A], show func(A) S) *problem {
	found, err := messages.Do(r.Context(), c.o.Backend, q)
	if err != nil {
		return refused(err)
	}
	return answer(w, show(found))
}

// answerList is answerAsked for a list. The list is a property with the given name.
func answerList[A, S any](c *Console, w http.ResponseWriter, r *http.Request, q messages.RequestOf[[]A], name string, show func(A) S) *problem {
	return answerAsked(c, w, r, q, func(found []A) map[string][]S { return map[string][]S{name: shownAll(found, show)} })
}

// shownAll converts all items. It never returns nil, which JSON would encode as null.
func shownAll[A, S any](all []A, show func(A) S) []S {
	shown := make([]S, len(all))
	for i, one := range all {
		shown[i] = show(one)
	}
	return shown
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil { // a mistake in the types of this package
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}

type route struct {
	params []string // definitions of its query parameters, see paramOf
	checks []param
	serve  func(w http.ResponseWriter, r *http.Request, q query) *problem
	acts   bool   // whether it changes something
	open   bool   // whether it needs no login and has a body
	node   bool   // whether it has the parameter node, which names the node of a cluster that answers
	name   string // name of the action in logs and events; empty if it is not logged
}

type param struct {
	name            string
	needed          bool
	words           []string // allowed values; nil means any text
	otherwise, most int      // default and maximum of a number, whose minimum is 1; most is 0 if the parameter is not a number
}

// paramOf parses a parameter's definition: name, name=word|word (the first word is the default), or
// name:default:most. An exclamation mark after the name means that the parameter is required.
func paramOf(text string) (p param) {
	name, words, chosen := strings.Cut(text, "=")
	if chosen {
		p.words = strings.Split(words, "|")
	}
	name, limits, _ := strings.Cut(name, ":")
	otherwise, most, _ := strings.Cut(limits, ":")
	p.otherwise, _ = strconv.Atoi(otherwise)
	p.most, _ = strconv.Atoi(most)
	p.name, p.needed = strings.CutSuffix(name, "!")
	return p
}

func (c *Console) table() map[string]map[string]route {
	type serve = func(w http.ResponseWriter, r *http.Request, q query) *problem
	get := func(f serve, params ...string) route {
		to := route{serve: f, checks: make([]param, len(params))}
		for i, text := range params {
			to.checks[i] = paramOf(text)
			to.params = append(to.params, to.checks[i].name)
			to.node = to.node || text == "node"
		}
		return to
	}
	read := func(f serve, params ...string) map[string]route {
		return map[string]route{http.MethodGet: get(f, params...)}
	}
	act := func(name string, f serve, params ...string) route {
		to := get(f, params...)
		to.acts, to.name = true, name
		return to
	}
	download := get(c.downloadLog, "id!")
	download.name = "download log"
	const limit = "limit:50:200"
	return map[string]map[string]route{
		"login":        {http.MethodPost: {open: true, serve: c.login}},
		"logout":       {http.MethodPost: act("", c.logout)},
		"me":           read(c.me),
		"openapi.yaml": read(c.openAPI),
		"overview":     read(c.overview, "node"),
		"nodes":        read(c.nodes),
		"node":         read(c.node, "node"),
		"nodes/forget": {http.MethodPost: act("forget node", c.forget, "id!", "node")},
		"game-sessions": {
			http.MethodGet: get(c.gameSessions, "fleet", "alias", "location", "status=ACTIVE|ACTIVATING|TERMINATING|TERMINATED|ERROR|any",
				"filter", "sort", limit, "next"),
			http.MethodPost: act("create game session", c.createGameSession, "fleet!", "location", "name", "maxPlayers:8:200"),
		},
		"game-session":           read(c.gameSession, "id!"),
		"game-session/log":       read(c.gameSessionLog, "id!", "lines:200:2000"),
		"game-session/log/file":  {http.MethodGet: download},
		"game-session/terminate": {http.MethodPost: act("terminate game session", c.terminate, "id!", "force=false|true")},
		"players": {
			http.MethodGet: get(c.players, "player", "gameSession", "playerSession", "fleet",
				"status=any|RESERVED|ACTIVE|COMPLETED|TIMEDOUT", limit, "next"),
			http.MethodPost: act("create player session", c.createPlayerSession, "gameSession!", "player!", "data", "node"),
		},
		"connections":  read(c.connections, "sort=queue|rtt|rate|newest", limit, "node"),
		"top":          read(c.top, "sort=rate|queue|rtt|players", limit, "node"),
		"players/kick": {http.MethodPost: act("kick player", c.kick, "player!", "gameSession", "reason")},
		"bans": {
			http.MethodGet:    get(c.bans),
			http.MethodPost:   act("ban player", c.ban, "player!", "seconds!:0:"+strconv.Itoa(banMax), "reason", "node"),
			http.MethodDelete: act("lift ban", c.liftBan, "player!", "node"),
		},
		"log-level": {
			http.MethodGet:  get(c.logLevel, "node"),
			http.MethodPost: act("set log level", c.setLogLevel, "level!=debug|info|warn|error", "node"),
		},
		"profile":             {http.MethodPost: act("take profile", c.profile, "kind=cpu|heap|goroutine|allocs", "seconds:10:120")},
		"connections/closed":  read(c.closedConnections, "player", "by=any|host|client|network", limit, "node"),
		"aliases":             read(c.aliases),
		"locations":           read(c.locations),
		"fleet/events":        read(c.fleetEvents, "id!", limit),
		"placement":           read(c.placement, "id!"),
		"settings":            read(c.settings, "node"),
		"listeners":           read(c.listeners, "node"),
		"fleets":              read(c.fleets),
		"scripts":             read(c.scripts),
		"queues":              read(c.queues),
		"placements":          read(c.placements, "queue", "status="+strings.Join(placementStatuses, "|"), limit),
		"matchmaking":         read(c.matchmaking),
		"matchmaking/tickets": read(c.tickets, "configuration", limit),
		"matchmaking/why":     read(c.whyTicket, "ticket!"),
		"placement/cancel":    {http.MethodPost: act("cancel placement", c.cancelPlacement, "id!")},
		"drain": {
			http.MethodGet:    get(c.drainState, "node"),
			http.MethodPost:   act("drain", c.drain, "grace", "node"),
			http.MethodDelete: act("cancel drain", c.cancelDrain, "node"),
		},
		"events":        read(c.events),
		"events/recent": read(c.recentEvents, "node"),
	}
}

// api handles a request below prefix.
func (c *Console) api(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	to, p := c.routeOf(r, w)
	who := caller{}
	if p == nil && !to.open {
		who, p = c.identify(r)
	}
	if p == nil {
		p = c.handle(w, r, to, who)
	}
	if p != nil {
		c.write(w, p)
	}
}

// routeOf returns the route of a request.
func (c *Console) routeOf(r *http.Request, w http.ResponseWriter) (route, *problem) {
	path := strings.TrimPrefix(r.URL.Path, prefix)
	methods, ok := c.routes[path]
	if !ok {
		return route{}, refusal(http.StatusNotFound, "UnknownPath", "there is no "+prefix+clip(path)+"; "+prefix+"openapi.yaml lists all")
	}
	to, ok := methods[r.Method]
	if !ok {
		allowed := make([]string, 0, len(methods))
		for m := range methods {
			allowed = append(allowed, m)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return route{}, refusal(http.StatusMethodNotAllowed, "MethodNotAllowed", "use "+strings.Join(allowed, " or ")+" here")
	}
	return to, nil
}

// handle answers an allowed request.
func (c *Console) handle(w http.ResponseWriter, r *http.Request, to route, who caller) *problem {
	if !to.open && r.ContentLength != 0 {
		return invalid("send no body: all parameters stand in the query")
	}
	q := query{who: who}
	if to.acts {
		if p := who.mayAct(r, to.name != ""); p != nil {
			return p
		}
	}
	if p := q.read(r.URL.RawQuery, to.params); p != nil {
		return p
	}
	p := q.check(to.checks)
	if p == nil && to.node {
		if done, p := c.elsewhere(w, r, q); done { // the other node reports the action
			return p
		}
	}
	if to.name != "" && !who.reported {
		defer func() { c.report(r, to.name, q, p) }()
	}
	if p == nil {
		p = &problem{code: "Aborted"} // in case the handler panics to cut off the response
		p = to.serve(w, r, q)
	}
	return p
}

// query has the validated query parameters of a request.
type query struct {
	who     caller
	values  url.Values
	words   map[string]string // values of parameters with a fixed set of words
	numbers map[string]int
}

const queryValueMax = 2048 // maximum bytes of a value, except of player (see playerMax)

func (q *query) read(raw string, known []string) *problem {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return invalid("the query cannot be read: %v", err)
	}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return invalid("there is no parameter %s: this path has none", clip(name))
		case !slices.Contains(known, name):
			return invalid("there is no parameter %s; there are %s", clip(name), strings.Join(known, ", "))
		case len(all) > 1:
			return invalid("%s is there %d times", name, len(all))
		case name == "player" && utf8.RuneCountInString(all[0]) > playerMax:
			return invalid("player is longer than %d characters", playerMax)
		case name != "player" && len(all[0]) > queryValueMax:
			return invalid("%s is longer than %d bytes", name, queryValueMax)
		case !utf8.ValidString(all[0]):
			return invalid("%s is not UTF-8", name)
		}
	}
	q.values = values
	return nil
}

func (q query) text(name string) string { return q.values.Get(name) }

func (q *query) check(params []param) *problem {
	q.words, q.numbers = map[string]string{}, map[string]int{}
	for _, one := range params {
		given, text := q.values.Has(one.name), q.text(one.name)
		switch {
		case one.needed && text == "":
			return invalid("%s is needed", one.name)
		case one.words != nil:
			if !given {
				text = one.words[0]
			}
			if !slices.Contains(one.words, text) {
				return invalid("%s must be one of %s", one.name, strings.Join(one.words, ", "))
			}
			q.words[one.name] = text
		case one.most > 0:
			n := one.otherwise
			if given {
				var err error
				if n, err = strconv.Atoi(text); err != nil || n < 1 || n > one.most {
					return invalid("%s must be a number from 1 to %d", one.name, one.most)
				}
			}
			q.numbers[one.name] = n
		}
	}
	return nil
}

// unknown returns the error for a list whose filter names a missing resource.
func unknown(kind, name string) *problem {
	return refusal(http.StatusNotFound, "NotFound", "there is no "+kind+" "+clip(name))
}

// clip shortens a caller's text for a response or a log line.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
