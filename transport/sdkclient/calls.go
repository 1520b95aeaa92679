package sdkclient

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json"
)

// call is a request that waits for its response.
type call struct {
	action string
	done   chan response // capacity 1
}

type response struct {
	frame []byte
	err   error
}

// Call sends a request and reads the members of the response into result, a pointer to a struct or nil. fields is a struct, a
// map or nil. The error is a *CallError if the host refuses it, ErrUnanswered, ErrSend, ErrDestroyed or that of the context.
func (p *Process) Call(ctx context.Context, action string, fields, result any) error {
	return p.CallAs(ctx, p.newID(), action, fields, result)
}

// CallAs is Call with the RequestId of the caller, for repetitions.
func (p *Process) CallAs(ctx context.Context, requestID, action string, fields, result any) error {
	return p.call(ctx, requestID, action, p.o.Timing.CallTimeout, fields, result)
}

// SendRaw writes bytes as one text frame, once.
func (p *Process) SendRaw(ctx context.Context, frame []byte) error {
	if err := p.lockWriting(ctx); err != nil {
		return err
	}
	defer p.unlockWriting()
	p.mu.Lock()
	l := p.link
	p.mu.Unlock()
	return l.write(frame)
}

func (p *Process) call(ctx context.Context, id, action string, timeout time.Duration, fields, result any) error {
	frame, err := request(action, id, fields)
	if err != nil {
		return err
	}
	c := &call{action: action, done: make(chan response, 1)}
	p.mu.Lock()
	if p.waiting == nil {
		p.waiting = make(map[string]*call, 1)
	}
	p.waiting[id] = c
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		if p.waiting[id] == c {
			delete(p.waiting, id)
		}
		p.mu.Unlock()
	}()
	for resends := 0; ; resends++ {
		if err := p.write(ctx, frame); err != nil {
			return err
		}
		select {
		case r := <-c.done:
			if r.err != nil || result == nil {
				return r.err
			}
			if err := json.Unmarshal(r.frame, result); err != nil {
				p.violate("%s: %v", action, err)
				return err
			}
			return nil
		case <-time.After(timeout):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
		p.unanswered()
		if resends == p.rules.resends {
			return ErrUnanswered
		}
		most := min(100*time.Millisecond<<resends, time.Second)
		if err := p.sleep(ctx, most/2+rand.N(most/2)); err != nil {
			return err
		}
	}
}

func (p *Process) write(ctx context.Context, frame []byte) error {
	if p.rules.goTransport {
		return p.writeGo(ctx, frame)
	}
	return p.writePlain(ctx, frame)
}

// unanswered counts a request without an answer. After two of them the SDKs replace the connection: Go with the same URL,
// C++ with a new IdempotencyToken and without SigV4.
func (p *Process) unanswered() {
	p.mu.Lock()
	p.silent++
	replace := p.rules.silentMax > 0 && p.silent >= p.rules.silentMax && !p.replacing
	p.replacing = p.replacing || replace
	p.mu.Unlock()
	if !replace {
		return
	}
	p.spawn(func() {
		if p.rules.goTransport {
			_ = p.reconnectGo()
		} else {
			p.mu.Lock()
			l := p.link
			l.redundant, p.up = true, false
			t := p.target
			p.mu.Unlock()
			l.end(goingAway)
			_ = p.connectPlain(p.newTarget(t.endpoint, t.token, nil))
		}
		p.mu.Lock()
		p.replacing = false
		p.mu.Unlock()
	})
}

// request returns the frame of a request.
func request(action, id string, fields any) ([]byte, error) {
	frame, err := json.Marshal(struct{ Action, RequestId string }{action, id}) //nolint:revive // the names on the wire
	if err != nil || fields == nil {
		return frame, err
	}
	rest, err := json.Marshal(fields, json.Deterministic(true))
	if err == nil && len(rest) > len("{}") {
		frame = append(append(frame[:len(frame)-1], ','), rest[1:]...)
	}
	return frame, err
}

// session returns the id of the game session for a call that needs one.
func (p *Process) session() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ready || p.gameSession == "" {
		return "", ErrNotReady
	}
	return p.gameSession, nil
}

type (
	gameSessionFields struct {
		GameSessionId string //nolint:revive // the name on the wire
	}
	playerSessionFields struct {
		GameSessionId, PlayerSessionId string //nolint:revive // the names on the wire
	}
	policyFields struct {
		GameSessionId, PlayerSessionPolicy string //nolint:revive // the names on the wire
	}
)

// ActivateGameSession says that the game session is ready for players.
func (p *Process) ActivateGameSession(ctx context.Context) error {
	id, err := p.session()
	if err != nil {
		return err
	}
	return p.Call(ctx, "ActivateGameSession", gameSessionFields{id}, nil)
}

// AcceptPlayerSession accepts a player who has connected.
func (p *Process) AcceptPlayerSession(ctx context.Context, playerSessionID string) error {
	id, err := p.session()
	if err != nil {
		return err
	}
	return p.Call(ctx, "AcceptPlayerSession", playerSessionFields{id, playerSessionID}, nil)
}

// RemovePlayerSession says that a player has gone.
func (p *Process) RemovePlayerSession(ctx context.Context, playerSessionID string) error {
	id, err := p.session()
	if err != nil {
		return err
	}
	return p.Call(ctx, "RemovePlayerSession", playerSessionFields{id, playerSessionID}, nil)
}

// UpdatePlayerSessionCreationPolicy sets ACCEPT_ALL or DENY_ALL.
func (p *Process) UpdatePlayerSessionCreationPolicy(ctx context.Context, policy string) error {
	id, err := p.session()
	if err != nil {
		return err
	}
	return p.Call(ctx, "UpdatePlayerSessionCreationPolicy", policyFields{id, policy}, nil)
}

// DescribePlayerSessions returns one page of player sessions.
func (p *Process) DescribePlayerSessions(ctx context.Context, d DescribePlayerSessions) (PlayerSessions, error) {
	var page struct {
		NextToken      *string
		PlayerSessions *[]PlayerSession
	}
	if err := p.Call(ctx, "DescribePlayerSessions", d, &page); err != nil {
		return PlayerSessions{}, err
	}
	if page.NextToken == nil || page.PlayerSessions == nil {
		p.violate("DescribePlayerSessions: NextToken and PlayerSessions must be there")
		return PlayerSessions{}, nil
	}
	return PlayerSessions{*page.NextToken, *page.PlayerSessions}, nil
}

// StartMatchBackfill returns the id of the ticket.
func (p *Process) StartMatchBackfill(ctx context.Context, b Backfill) (ticketID string, err error) {
	var result struct {
		TicketId string //nolint:revive // the name on the wire
	}
	err = p.Call(ctx, "StartMatchBackfill", b, &result)
	return result.TicketId, err
}

// StopMatchBackfill cancels a ticket.
func (p *Process) StopMatchBackfill(ctx context.Context, b Backfill) error {
	b.Players = nil
	return p.Call(ctx, "StopMatchBackfill", b, nil)
}

// GetComputeCertificate returns the path that was given when the compute was registered.
func (p *Process) GetComputeCertificate(ctx context.Context) (c Certificate, err error) {
	err = p.Call(ctx, "GetComputeCertificate", nil, &c)
	return c, err
}
