package sdkclient

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const statusOK = 200

// head has the members that every frame may have. Keys are exact, and so are types, because the SDK for C++ needs both.
type head struct {
	Action       string
	RequestId    *string //nolint:revive // the name on the wire
	StatusCode   *int
	ErrorMessage string
}

// onFrame handles a frame of the host.
func (p *Process) onFrame(frame []byte) {
	if f := p.o.Frame; f != nil {
		f(false, frame)
	}
	p.mu.Lock()
	p.silent = 0
	p.mu.Unlock()
	var h head
	switch err := json.Unmarshal(frame, &h); {
	case err != nil:
		p.violate("%.200s: %v", frame, err)
	case h.RequestId != nil:
		p.onResponse(frame, h)
	default:
		p.onPush(frame, h)
	}
}

func (p *Process) onResponse(frame []byte, h head) {
	p.mu.Lock()
	c := p.waiting[*h.RequestId]
	delete(p.waiting, *h.RequestId)
	if c == nil {
		p.stats.Unmatched++
	}
	p.mu.Unlock()
	if c == nil {
		return
	}
	if h.Action != c.action {
		p.violate("the response to %s has the Action %q", c.action, h.Action)
	}
	switch {
	case h.StatusCode == nil:
		p.violate("the response to %s has no StatusCode", c.action)
		c.done <- response{err: &CallError{Message: "no StatusCode"}}
	case *h.StatusCode != statusOK:
		if h.ErrorMessage == "" {
			p.violate("the response to %s has StatusCode %d and no ErrorMessage", c.action, *h.StatusCode)
		}
		c.done <- response{err: &CallError{*h.StatusCode, h.ErrorMessage}}
	default:
		c.done <- response{frame: frame}
	}
}

func (p *Process) onPush(frame []byte, h head) {
	switch h.Action {
	case "CreateGameSession":
		var g GameSession
		if p.read(frame, &g, "GameProperties") {
			g.Name, g.GameSessionName = g.GameSessionName, ""
			g.FleetId = p.o.FleetID // which the push does not have
			p.onCreate(g)
		}
	case "UpdateGameSession":
		var u GameSessionUpdate
		if p.read(frame, &u, "GameSession") && p.isReady() && p.o.Handlers.OnUpdateGameSession != nil {
			if u.GameSession.GameProperties == nil || u.GameSession.FleetId == "" {
				p.violate("UpdateGameSession needs FleetId and GameProperties")
			}
			p.o.Handlers.OnUpdateGameSession(p, u)
		}
	case "TerminateProcess":
		var t struct{ TerminationTime int64 }
		if p.read(frame, &t, "TerminationTime") {
			p.onTerminate(time.UnixMilli(t.TerminationTime))
		}
	case "RefreshConnection":
		var r struct{ RefreshConnectionEndpoint, AuthToken string }
		if p.read(frame, &r, "RefreshConnectionEndpoint", "AuthToken") {
			p.onRefresh(r.RefreshConnectionEndpoint, r.AuthToken)
		}
	default:
		p.violate("a push with the Action %q", h.Action)
	}
}

// read reads a push. Members that must be there must not be null.
func (p *Process) read(frame []byte, push any, members ...string) bool {
	var raw map[string]jsontext.Value
	err := json.Unmarshal(frame, push)
	if err == nil {
		err = json.Unmarshal(frame, &raw)
	}
	if err != nil {
		p.violate("%.200s: %v", frame, err)
		return false
	}
	for _, m := range members {
		if v := raw[m]; v == nil || v.Kind() == 'n' {
			p.violate("%.200s: no %s", frame, m)
		}
	}
	return true
}

func (p *Process) isReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ready {
		p.stats.Ignored++
	}
	return p.ready
}

func (p *Process) onCreate(g GameSession) {
	if !p.isReady() {
		return
	}
	p.mu.Lock()
	if p.gameSession != "" && p.gameSession != g.GameSessionId {
		p.violations = append(p.violations, "a second game session: "+g.GameSessionId)
	}
	p.gameSession = g.GameSessionId
	p.mu.Unlock()
	if f := p.o.Handlers.OnStartGameSession; f != nil {
		f(p, g)
	}
}

func (p *Process) onTerminate(at time.Time) {
	if !p.rules.goTransport && !p.isReady() {
		if p.rules.terminateNeedsReady {
			p.violate("TerminateProcess before the process is ready")
		}
		return
	}
	if f := p.o.Handlers.OnProcessTerminate; f != nil {
		f(p, at)
		return
	}
	_ = p.Ending(p.ctx)
	p.Destroy()
}

func (p *Process) onRefresh(endpoint, token string) {
	if !p.rules.earlyRefresh && !p.isReady() {
		return
	}
	_ = p.connect(p.newTarget(endpoint, token, nil))
}
