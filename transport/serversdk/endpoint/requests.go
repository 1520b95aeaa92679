package endpoint

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"troupe/messages"
	"troupe/transport/serversdk"
)

// besideMax limits the slow requests of a connection that are answered beside its queue.
const besideMax = 8

// answer ends a request: it is called exactly once.
type answer func(result any, err error)

// request is a request that waits, with the size of its message.
type request struct {
	serversdk.Request
	size int
}

// onMessage handles a text message. on is false after it has closed the connection. kept says that the message counts as held
// until it is answered.
func (c *conn) onMessage(text []byte) (kept, on bool) {
	allowed := c.allowed()
	if !allowed && c.excess > excessMax {
		return false, !c.refused(errTooFast)
	}
	r, refused := c.e.memory.parse(text)
	switch {
	case refused != nil:
		c.sendRefusal(*refused)
		return false, true
	case !allowed:
		// It may repeat a request that is being answered, which goes on.
		c.sendRefusal(serversdk.Refusal{Action: r.Action, ID: r.ID, Status: serversdk.StatusTooMany, Text: "Messages come too fast."})
		return false, true
	}
	if beat, ok := r.Fields.(serversdk.HeartbeatServerProcessFields); ok {
		if c.begins() {
			c.call(messages.BeatProcess{Healthy: beat.HealthStatus}, func(_ any, err error) { c.reply(&r, nil, err) })
		}
		return false, true
	}
	if changes(&r) {
		switch stored, again := c.peer.replays.begin(r.ID, c); {
		case stored != nil:
			c.send(frameOf(stored))
			return false, true
		case again: // the answer to the first one is sent here, too
			return false, true
		}
	} else if !c.begins() {
		return false, true
	}
	isSlow, full := slow(&r), ""
	c.mu.Lock()
	switch {
	case isSlow && c.beside >= besideMax:
		full = fmt.Sprintf("%d requests are being answered already.", besideMax)
	case !isSlow && len(c.queue) >= queueMax:
		full = fmt.Sprintf("%d requests are waiting already.", queueMax)
	case c.waits > 0 && c.waits+len(text) > serversdk.FrameMax:
		full = fmt.Sprintf("%d bytes of requests are waiting already.", c.waits)
	case isSlow:
		c.beside++
	default:
		c.queue = append(c.queue, request{r, len(text)})
	}
	if full == "" {
		c.waits += len(text)
	}
	c.mu.Unlock()
	switch {
	case full != "":
		c.refuse(&r, messages.RefuseProcess(serversdk.StatusTooMany, "%s", full))
		return false, true
	case isSlow:
		c.handle(&r, func(result any, err error) {
			c.mu.Lock()
			c.beside--
			c.mu.Unlock()
			c.answers(&request{r, len(text)}, result, err)
		})
	default:
		c.next()
	}
	return true, true
}

// next answers the requests of the queue, one at a time.
func (c *conn) next() {
	c.mu.Lock()
	if c.busy || len(c.queue) == 0 {
		c.mu.Unlock()
		return
	}
	r := c.queue[0]
	if c.queue = c.queue[1:]; len(c.queue) == 0 {
		c.queue = nil
	}
	c.busy = true
	c.mu.Unlock()
	c.handle(&r.Request, func(result any, err error) {
		c.answers(&r, result, err)
		c.mu.Lock()
		c.busy = false
		c.mu.Unlock()
		c.next()
	})
}

// answers answers a request whose message counted as held.
func (c *conn) answers(r *request, result any, err error) {
	c.reply(&r.Request, result, err)
	c.mu.Lock()
	c.waits -= r.size
	c.mu.Unlock()
	c.hold(-r.size)
}

// changes reports whether a request has an effect, so that its repetition must not have another one. The answers to
// others are not kept: they may be large, and asking again does no harm.
func changes(r *serversdk.Request) bool {
	switch r.Fields.(type) {
	case serversdk.DescribePlayerSessionsFields, serversdk.GetFleetRoleCredentialsFields, serversdk.HeartbeatServerProcessFields:
		return false
	}
	return r.Action != serversdk.GetComputeCertificate
}

func slow(r *serversdk.Request) bool {
	switch r.Fields.(type) {
	case serversdk.StartMatchBackfillFields, serversdk.StopMatchBackfillFields, serversdk.GetFleetRoleCredentialsFields:
		return true
	}
	return false
}

// call passes a call of the process to the Backend.
func (c *conn) call(what any, reply func(any, error)) {
	c.e.o.Backend.Call(messages.ProcessCall{Process: c.id, Link: c, What: what}, reply)
}

// do answers a request of the service API on a goroutine of its own.
func (c *conn) do(f func(ctx context.Context) (any, error), reply answer) {
	if !c.e.background(func() {
		ctx, cancel := context.WithTimeout(c.e.ctx, requestTime)
		defer cancel()
		reply(f(ctx))
	}) {
		reply(nil, messages.RefuseProcess(serversdk.StatusDraining, "The host is shutting down."))
	}
}

// reply sends the answer to a request, also to the connections on which it was repeated.
func (c *conn) reply(r *serversdk.Request, result any, err error) {
	if err != nil {
		c.refuse(r, err)
		return
	}
	c.answered(r, r.Answer(result), true)
}

// refuse answers a request with an error.
func (c *conn) refuse(r *serversdk.Request, err error) {
	refused := serversdk.Refusal{Action: r.Action, ID: r.ID, Status: serversdk.StatusInternal, Text: "The host could not answer."}
	var why *messages.ProcessRefusal
	var of *messages.Error
	switch {
	case errors.As(err, &why):
		refused.Status, refused.Text = why.Status, why.Text
	case errors.As(err, &of):
		refused.Status, refused.Text = statusOf(of.Code), of.Text
	default:
		c.e.o.Log.Warn().Err(err).Str("process", c.id.String()).Str("action", r.Action).Msg("a request of a server process failed")
	}
	lasting := refused.Status != serversdk.StatusTooMany && refused.Status < serversdk.StatusInternal
	c.answered(r, refused.Frame(), lasting)
}

func (c *conn) sendRefusal(r serversdk.Refusal) { c.send(frameOf(r.Frame())) }

// answered sends a response. If it is lasting, it is kept for repetitions of the request.
func (c *conn) answered(r *serversdk.Request, text []byte, lasting bool) {
	if !changes(r) {
		c.finishes(text)
		return
	}
	for _, to := range c.peer.replays.end(r.ID, text, lasting, c) {
		to.finishes(text)
	}
}

func statusOf(code messages.ErrorCode) int {
	switch code {
	case messages.NotFound:
		return serversdk.StatusNotFound
	case messages.Conflict:
		return serversdk.StatusConflict
	case messages.Unavailable:
		return serversdk.StatusDraining
	case messages.LimitExceeded:
		return serversdk.StatusTooMany
	case messages.Internal:
		return serversdk.StatusInternal
	}
	return serversdk.StatusBadRequest
}

// handle answers a request.
func (c *conn) handle(r *serversdk.Request, reply answer) {
	none := func(_ any, err error) { reply(nil, err) }
	switch f := r.Fields.(type) {
	case serversdk.ActivateServerProcessFields:
		c.call(messages.ActivateProcess{Port: f.Port, LogPaths: f.LogPaths}, none)
	case serversdk.ActivateGameSessionFields:
		c.call(messages.ActivateGame{Session: messages.GameSessionID(f.GameSessionId)}, none)
	case serversdk.UpdatePlayerSessionCreationPolicyFields:
		c.call(messages.SetPolicy{Session: messages.GameSessionID(f.GameSessionId), Accepts: f.PlayerSessionPolicy == "ACCEPT_ALL"}, none)
	case serversdk.AcceptPlayerSessionFields:
		c.call(messages.SetPlayer{
			Session: messages.GameSessionID(f.GameSessionId), Player: messages.PlayerSessionID(f.PlayerSessionId), Accept: r.Action == "AcceptPlayerSession",
		}, none)
	case serversdk.DescribePlayerSessionsFields:
		c.whenReady(reply, func(*messages.Compute) { c.describe(&f, reply) })
	case serversdk.StartMatchBackfillFields:
		c.own(f.GameSessionArn, reply, func() { c.startBackfill(&f, reply) })
	case serversdk.StopMatchBackfillFields:
		c.own(f.GameSessionArn, reply, func() { c.stopBackfill(&f, reply) })
	case serversdk.GetFleetRoleCredentialsFields: // there are none (D-420)
		c.whenReady(reply, func(*messages.Compute) { reply(serversdk.GetFleetRoleCredentialsResult{}, nil) })
	case nil:
		if r.Action == serversdk.TerminateServerProcess {
			c.call(messages.LeaveProcess{}, none)
			return
		}
		c.whenReady(reply, func(m *messages.Compute) {
			reply(serversdk.GetComputeCertificateResult{CertificatePath: m.CertificatePath, ComputeName: m.Name}, nil)
		})
	default:
		reply(nil, messages.RefuseProcess(serversdk.StatusBadRequest, "Unknown action"))
	}
}

// whenReady calls f if the process is ready, and else refuses.
func (c *conn) whenReady(reply answer, f func(m *messages.Compute)) {
	c.call(messages.AboutProcess{}, func(found any, err error) {
		if m, ok := found.(*messages.Compute); err == nil && ok {
			f(m)
			return
		}
		reply(nil, err)
	})
}

// own calls f if the game session is that of the process, and else refuses: backfill has no 404.
func (c *conn) own(id string, reply answer, f func()) {
	c.call(messages.OwnGame{Session: messages.GameSessionID(id)}, func(_ any, err error) {
		var why *messages.ProcessRefusal
		switch {
		case errors.As(err, &why) && why.Status == serversdk.StatusNotFound:
			reply(nil, messages.RefuseProcess(serversdk.StatusBadRequest, "%s", why.Text))
		case err != nil:
			reply(nil, err)
		default:
			f()
		}
	})
}

// describe answers DescribePlayerSessions, of the process's fleet only (D-413).
func (c *conn) describe(f *serversdk.DescribePlayerSessionsFields, reply answer) {
	after, err := readToken(f.NextToken)
	if err != nil {
		reply(nil, err)
		return
	}
	q := messages.PlayerSessionQuery{
		GameSessionID: messages.GameSessionID(f.GameSessionId), PlayerID: messages.PlayerID(f.PlayerId), PlayerSessionID: messages.PlayerSessionID(f.PlayerSessionId),
	}
	c.do(func(ctx context.Context) (any, error) {
		all, err := messages.Do(ctx, c.e.o.Backend, q)
		if err != nil && !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			return nil, err
		}
		var result serversdk.DescribePlayerSessionsResult
		var last position
		for _, s := range after.rest(all) {
			switch {
			case s.FleetID != c.id.FleetID, f.PlayerSessionStatusFilter != "" && s.Status.String() != f.PlayerSessionStatusFilter:
				continue
			case len(result.PlayerSessions) == f.Limit:
				result.NextToken = last.token()
				return result, nil
			}
			result.PlayerSessions = append(result.PlayerSessions, shown(s))
			last = position{s.Created.UnixNano(), string(s.ID)}
		}
		return result, nil
	}, reply)
}

func shown(s *messages.PlayerSession) serversdk.PlayerSession {
	p := serversdk.PlayerSession{
		PlayerSessionId: string(s.ID), PlayerId: string(s.PlayerID), GameSessionId: string(s.GameSessionID), FleetId: string(s.FleetID),
		PlayerData: s.PlayerData, IpAddress: s.IPAddress, DnsName: s.DNSName, Port: s.Port, CreationTime: s.Created.UnixMilli(), Status: s.Status.String(),
	}
	if !s.Terminated.IsZero() {
		p.TerminationTime = s.Terminated.UnixMilli()
	}
	return p
}

// position is the place of a player session in a list. The zero value is before all.
type position struct {
	created int64
	id      string
}

// rest returns the player sessions behind p. They are sorted by time, and those of one request have the same.
func (p position) rest(all []*messages.PlayerSession) []*messages.PlayerSession {
	i := slices.IndexFunc(all, func(s *messages.PlayerSession) bool { return string(s.ID) == p.id })
	if i < 0 { // the host does not keep it any more
		i = slices.IndexFunc(all, func(s *messages.PlayerSession) bool { return s.Created.UnixNano() > p.created }) - 1
		if i < -1 {
			return nil
		}
	}
	return all[i+1:]
}

func (p position) token() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.created, 36) + " " + p.id))
}

func readToken(token string) (p position, err error) {
	if token == "" {
		return p, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	at, id, ok := strings.Cut(string(text), " ")
	if err == nil && ok {
		p.id = id
		p.created, err = strconv.ParseInt(at, 36, 64)
	}
	if err != nil || !ok {
		return p, messages.RefuseProcess(http.StatusBadRequest, "NextToken is not one that the host has given.")
	}
	return p, nil
}

// matchmaker returns the name in the ARN of a matchmaking configuration of this host.
func (e *Endpoint) matchmaker(arn string) (messages.MatchmakerName, error) {
	for _, account := range []string{e.o.Account, ""} {
		if name, ok := strings.CutPrefix(arn, "arn:aws:gamelift:"+e.o.Region+":"+account+":matchmakingconfiguration/"); ok {
			return messages.MatchmakerName(name), nil
		}
	}
	return "", messages.RefuseProcess(serversdk.StatusBadRequest, "MatchmakingConfigurationArn is not one of this host.")
}

// startBackfill is answered when the ticket is queued.
func (c *conn) startBackfill(f *serversdk.StartMatchBackfillFields, reply answer) {
	name, err := c.e.matchmaker(f.MatchmakingConfigurationArn)
	if err != nil {
		reply(nil, err)
		return
	}
	q := messages.StartMatchBackfill{TicketID: messages.TicketID(f.TicketId), Matchmaker: name, Session: messages.GameSessionID(f.GameSessionArn)}
	for i := range f.Players {
		q.Players = append(q.Players, ticketPlayer(&f.Players[i]))
	}
	c.do(func(ctx context.Context) (any, error) {
		t, err := messages.Do(ctx, c.e.o.Backend, q)
		if err != nil {
			return nil, badRequest(err)
		}
		return serversdk.StartMatchBackfillResult{TicketId: string(t.ID)}, nil
	}, reply)
}

func ticketPlayer(p *serversdk.BackfillPlayer) messages.TicketPlayer {
	t := messages.TicketPlayer{ID: messages.PlayerID(p.PlayerId), Team: p.Team, Latencies: p.LatencyInMs}
	for name, a := range p.PlayerAttributes {
		kind := map[string]messages.AttributeKind{
			"STRING": messages.AttributeText, "DOUBLE": messages.AttributeNumber, "STRING_LIST": messages.AttributeTexts, "STRING_DOUBLE_MAP": messages.AttributeMap,
		}[a.AttrType]
		if kind == "" { // NONE
			continue
		}
		if t.Attributes == nil {
			t.Attributes = make(map[string]messages.Attribute)
		}
		t.Attributes[name] = messages.Attribute{Kind: kind, S: a.S, N: a.N, SL: a.SL, SDM: a.SDM}
	}
	return t
}

func (c *conn) stopBackfill(f *serversdk.StopMatchBackfillFields, reply answer) {
	name, err := c.e.matchmaker(f.MatchmakingConfigurationArn)
	if err != nil {
		reply(nil, err)
		return
	}
	id := messages.TicketID(f.TicketId)
	c.do(func(ctx context.Context) (any, error) {
		found, err := messages.Do(ctx, c.e.o.Backend, messages.TicketQuery{IDs: []messages.TicketID{id}})
		if err != nil {
			return nil, err
		}
		inactive := messages.RefuseProcess(serversdk.StatusBadRequest, "Ticket is not active.")
		if len(found) == 0 || found[0].Matchmaker != name || found[0].Backfill == nil || found[0].Backfill.Session != messages.GameSessionID(f.GameSessionArn) {
			return nil, inactive
		}
		if err := messages.Run(ctx, c.e.o.Backend, messages.StopMatchmaking{ID: id}); err != nil {
			if errors.Is(badRequest(err), err) {
				return nil, err
			}
			return nil, inactive
		}
		return nil, nil
	}, reply)
}

// badRequest makes a refusal of matchmaking a 400. Other errors stay as they are.
func badRequest(err error) error {
	var of *messages.Error
	if errors.As(err, &of) && statusOf(of.Code) < serversdk.StatusTooMany {
		return messages.RefuseProcess(serversdk.StatusBadRequest, "%s", of.Text)
	}
	return err
}

// refresh gives the process a new token, with which it opens another connection. host says that this host has started it.
func (c *conn) refresh(host bool) {
	ctx, cancel := context.WithTimeout(c.e.ctx, requestTime)
	defer cancel()
	auth, err := messages.Do(ctx, c.e.o.Backend, messages.AuthorizeCompute{FleetID: c.id.FleetID, Name: c.id.Compute, Host: true})
	if err != nil {
		c.e.o.Log.Warn().Err(err).Str("process", c.id.String()).Msg("server process gets no new token")
		return
	}
	send := func(url string) {
		c.send(frameOf(serversdk.Push(serversdk.PushRefreshConnection, serversdk.RefreshConnectionPush{RefreshConnectionEndpoint: url, AuthToken: auth.Token})))
	}
	if !host {
		send(c.e.o.URL)
		return
	}
	c.call(messages.HideToken{Token: auth.Token}, func(any, error) { send(c.e.o.HostURL) })
}

// sizeOf estimates the size of the message of a push, without its encoding.
func sizeOf(p messages.ProcessPush) int {
	const others = 1 << 10
	var g *messages.GameSession
	switch p := p.(type) {
	case messages.PushGameSession:
		g = p.Session
	case messages.PushUpdate:
		g = p.Session
	default:
		return others
	}
	return others + len(g.Data) + len(g.MatchmakerData)
}

// pushed returns the message of a push.
func pushed(p messages.ProcessPush) []byte {
	switch p := p.(type) {
	case messages.PushGameSession:
		g := p.Session
		return serversdk.Push(serversdk.PushCreateGameSession, serversdk.CreateGameSessionPush{
			GameSessionId: string(g.ID), GameSessionName: g.Name, MaximumPlayerSessionCount: g.MaxPlayers, IpAddress: g.IPAddress, Port: g.Port,
			DnsName: g.DNSName, GameProperties: propertiesOf(g), GameSessionData: g.Data, MatchmakerData: g.MatchmakerData,
		})
	case messages.PushUpdate:
		g := p.Session
		return serversdk.Push(serversdk.PushUpdateGameSession, serversdk.UpdateGameSessionPush{
			UpdateReason: string(p.Reason), BackfillTicketId: string(p.Ticket),
			GameSession: serversdk.GameSession{
				GameSessionId: string(g.ID), Name: g.Name, FleetId: string(g.FleetID), MaximumPlayerSessionCount: g.MaxPlayers, IpAddress: g.IPAddress,
				Port: g.Port, DnsName: g.DNSName, GameProperties: propertiesOf(g), GameSessionData: g.Data, MatchmakerData: g.MatchmakerData, Status: g.Status.String(),
			},
		})
	case messages.PushTerminate:
		return serversdk.Push(serversdk.PushTerminateProcess, serversdk.TerminateProcessPush{TerminationTime: p.At.UnixMilli()})
	}
	return nil
}

func propertiesOf(g *messages.GameSession) map[string]string {
	all := make(map[string]string, len(g.Properties))
	for _, p := range g.Properties {
		all[p.Key] = p.Value
	}
	return all
}
