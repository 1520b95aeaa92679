package console

import (
	"bytes"
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

// problem is a refusal: an HTTP status, a code for programs and a sentence.
type problem struct {
	status  int
	code    string
	message string
}

func (p *problem) write(w http.ResponseWriter) {
	writeJSON(w, p.status, map[string]string{"code": p.code, "message": p.message})
}

func invalid(format string, args ...any) *problem {
	return &problem{http.StatusBadRequest, "BadRequest", fmt.Sprintf(format, args...)}
}

// refused translates an error of the Backend.
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
		case messages.Conflict, messages.InvalidGameSessionStatus:
			status = http.StatusConflict
		}
		return &problem{status, codeOf(e.Code), err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problem{http.StatusServiceUnavailable, "TooSlow", "the host did not answer in time"}
	}
	return &problem{http.StatusInternalServerError, "Internal", err.Error()}
}

// codeOf is the name of a code in one word, such as NotFound.
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

// answerAsked has a request answered by the Backend, and shows the answer.
func answerAsked[A, S any](c *Console, w http.ResponseWriter, r *http.Request, q messages.RequestOf[A], show func(A) S) *problem {
	found, err := messages.Do(r.Context(), c.o.Backend, q)
	if err != nil {
		return refused(err)
	}
	return answer(w, show(found))
}

// answerList is answerAsked for a list, which stands under a name.
func answerList[A, S any](c *Console, w http.ResponseWriter, r *http.Request, q messages.RequestOf[[]A], name string, show func(A) S) *problem {
	return answerAsked(c, w, r, q, func(found []A) map[string][]S { return map[string][]S{name: shownAll(found, show)} })
}

// shownAll is never nil, which JSON would show as null.
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

// route is one method of one path.
type route struct {
	params []string // the names of query parameters that it takes
	needs  []string // those of them that must be there
	serve  func(w http.ResponseWriter, r *http.Request, q query) *problem
	acts   bool   // it changes something
	open   bool   // it needs no login, and has a body
	name   string // under which it is logged, and told as an event; empty: it is not
}

// table lists all paths below prefix.
func (c *Console) table() map[string]map[string]route {
	type serve = func(w http.ResponseWriter, r *http.Request, q query) *problem
	// get reads something. With an exclamation mark, a parameter must be there.
	get := func(f serve, params ...string) route {
		to := route{serve: f}
		for _, name := range params {
			name, needed := strings.CutSuffix(name, "!")
			if to.params = append(to.params, name); needed {
				to.needs = append(to.needs, name)
			}
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
	return map[string]map[string]route{
		"login":        {http.MethodPost: {open: true, serve: c.login}},
		"logout":       {http.MethodPost: act("", c.logout)},
		"me":           read(c.me),
		"openapi.yaml": read(c.openAPI),
		"overview":     read(c.overview),
		"game-sessions": {
			http.MethodGet:  get(c.gameSessions, "fleet", "alias", "location", "status", "filter", "sort", "limit", "next"),
			http.MethodPost: act("create game session", c.createGameSession, "fleet!", "location", "name", "maxPlayers"),
		},
		"game-session":           read(c.gameSession, "id!"),
		"game-session/log":       read(c.gameSessionLog, "id!", "lines"),
		"game-session/log/file":  {http.MethodGet: download},
		"game-session/terminate": {http.MethodPost: act("terminate game session", c.terminate, "id!", "force")},
		"players": {
			http.MethodGet:  get(c.players, "player", "gameSession", "playerSession", "fleet", "status", "limit", "next"),
			http.MethodPost: act("create player session", c.createPlayerSession, "gameSession!", "player!", "data"),
		},
		"connections":  read(c.connections, "sort", "limit"),
		"top":          read(c.top, "sort", "limit"),
		"players/kick": {http.MethodPost: act("kick player", c.kick, "player!", "gameSession", "reason")},
		"bans": {
			http.MethodGet:    get(c.bans),
			http.MethodPost:   act("ban player", c.ban, "player!", "seconds", "reason"),
			http.MethodDelete: act("lift ban", c.liftBan, "player!"),
		},
		"log-level": {
			http.MethodGet:  get(c.logLevel),
			http.MethodPost: act("set log level", c.setLogLevel, "level!"),
		},
		"profile":             {http.MethodPost: act("take profile", c.profile, "kind", "seconds")},
		"connections/closed":  read(c.closedConnections, "player", "by", "limit"),
		"aliases":             read(c.aliases),
		"locations":           read(c.locations),
		"fleet/events":        read(c.fleetEvents, "id!", "limit"),
		"placement":           read(c.placement, "id!"),
		"settings":            read(c.settings),
		"listeners":           read(c.listeners),
		"fleets":              read(c.fleets),
		"scripts":             read(c.scripts),
		"queues":              read(c.queues),
		"placements":          read(c.placements, "queue", "status", "limit"),
		"matchmaking":         read(c.matchmaking),
		"matchmaking/tickets": read(c.tickets, "configuration", "limit"),
		"matchmaking/why":     read(c.whyTicket, "ticket!"),
		"placement/cancel":    {http.MethodPost: act("cancel placement", c.cancelPlacement, "id!")},
		"drain": {
			http.MethodGet:    get(c.drainState),
			http.MethodPost:   act("drain", c.drain, "grace"),
			http.MethodDelete: act("cancel drain", c.cancelDrain),
		},
		"events": read(c.events),
	}
}

// api answers a request below prefix.
func (c *Console) api(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if p := c.route(w, r); p != nil {
		p.write(w)
	}
}

func (c *Console) route(w http.ResponseWriter, r *http.Request) *problem {
	path := strings.TrimPrefix(r.URL.Path, prefix)
	methods, ok := c.routes[path]
	if !ok {
		return &problem{http.StatusNotFound, "UnknownPath", "there is no " + prefix + clip(path) + "; " + prefix + "openapi.yaml lists all"}
	}
	to, ok := methods[r.Method]
	if !ok {
		allowed := make([]string, 0, len(methods))
		for m := range methods {
			allowed = append(allowed, m)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &problem{http.StatusMethodNotAllowed, "MethodNotAllowed", "use " + strings.Join(allowed, " or ") + " here"}
	}
	if !to.open && r.ContentLength != 0 {
		return invalid("send no body: all parameters stand in the query")
	}
	q := query{}
	if !to.open {
		who, p := c.identify(r)
		if p != nil {
			return p
		}
		if to.acts {
			if p := who.mayAct(r, to.name != ""); p != nil {
				return p
			}
		}
		q.who = who
	}
	if p := q.read(r.URL.RawQuery, to.params); p != nil {
		return p
	}
	p := &problem{code: "Aborted"} // if it panics to break off the answer
	if to.name != "" {
		defer func() { c.report(r, to.name, q, p) }()
	}
	if missing := q.complete(to.needs); missing != nil {
		p = missing
	} else {
		p = to.serve(w, r, q)
	}
	return p
}

// query is the checked query of a request.
type query struct {
	who    caller
	values url.Values
	limit  int // the parameter of that name
}

// queryValueMax bounds a value in bytes, except that of player (see playerMax).
const queryValueMax = 2048

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

const (
	limitDefault = 50
	limitMax     = 200
)

// complete checks that the parameters that must be there are, and reads limit.
func (q *query) complete(needs []string) (p *problem) {
	for _, name := range needs {
		if q.text(name) == "" {
			return invalid("%s is needed", name)
		}
	}
	q.limit, p = q.number("limit", limitDefault, limitMax)
	return p
}

// number returns a parameter from 1 to most.
func (q query) number(name string, otherwise, most int) (int, *problem) {
	text := q.values.Get(name)
	if !q.values.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("%s must be a number from 1 to %d", name, most)
	}
	return n, nil
}

// oneOf returns a parameter that is one of some words; without it, the first.
func (q query) oneOf(name string, words ...string) (string, *problem) {
	v := q.values.Get(name)
	switch {
	case !q.values.Has(name):
		return words[0], nil
	case slices.Contains(words, v):
		return v, nil
	}
	return "", invalid("%s must be one of %s", name, strings.Join(words, ", "))
}

// unknown refuses the name of a resource that a list is to be about.
func unknown(kind, name string) *problem {
	return &problem{http.StatusNotFound, "NotFound", "there is no " + kind + " " + clip(name)}
}

// clip bounds text of a caller in an answer or a log.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
