package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/bans"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/transport/client"
)

// An operator removes a player and bans the player, also across a restart. The list of bans shows why and by
// whom.
func TestAnOperatorKicksAndBans(t *testing.T) { synctest.Test(t, anOperatorKicksAndBans) }

func anOperatorKicksAndBans(t *testing.T) {
	c := storeConfig(t)
	c.Events.Sinks = []EventSink{{Name: "audit", Type: "file", Path: t.TempDir() + "/audit", Kinds: []string{"operator"}}}
	o := Options{Config: c, Dev: true, Network: memory(t)}
	h := begin(t, o)
	join := func() (*client.Client, error) {
		t.Helper()
		return h.dial(h.seat(`{"playerId": "ann"}`).PlayerSessionID, false)
	}
	ann, err := join()
	if err != nil {
		t.Fatal(err)
	}
	if status, body := h.act("POST", "/players/kick?player=ann&reason=rude"); status != 200 || !strings.Contains(body, `"kicked":1`) {
		t.Fatal(status, body)
	}
	<-ann.Done()
	synctest.Wait()
	if _, body := h.act("GET", "/connections/closed?player=ann&by=host"); !strings.Contains(body, `"reason":"kicked"`) ||
		!strings.Contains(body, `"detail":"by an operator (this machine): rude"`) || !strings.Contains(body, `"playerId":"ann"`) {
		t.Error(body)
	}
	found, err := messages.Do(t.Context(), h.System(), messages.FindGameSessions{FleetID: "fleet-dev"})
	games := found.GameSessions
	if err != nil {
		t.Fatal(err)
	}
	_, body := h.act("GET", "/game-session?id="+url.QueryEscape(string(games[0].ID)))
	for _, kind := range []string{"reserved", "joined", "left"} {
		if !strings.Contains(body, fmt.Sprintf(`"kind":%q,"playerId":"ann"`, kind)) {
			t.Errorf("the time line does not say that she %s: %s", kind, body)
		}
	}
	if ann, err = join(); err != nil { // a kick without a ban does not keep the player out
		t.Fatal(err)
	}
	if status, body := h.act("POST", "/bans?player=ann&seconds=3600&reason=rude"); status != 200 || !strings.Contains(body, `"kicked":1`) {
		t.Fatal(status, body)
	}
	<-ann.Done()
	if _, err := join(); err == nil {
		t.Error("she is in again")
	}
	h.Close()
	h = begin(t, o)
	if _, err := join(); err == nil {
		t.Error("she is in again after a restart")
	}
	if _, body := h.act("GET", "/bans"); !strings.Contains(body, `"playerId":"ann"`) || !strings.Contains(body, `"by":"this machine"`) {
		t.Error(body)
	}
	if status, body := h.act("DELETE", "/bans?player=ann"); status != 200 {
		t.Fatal(status, body)
	}
	if _, err = join(); err != nil {
		t.Fatal(err)
	}
	h.Close()
	if _, body := begin(t, o).act("GET", "/bans"); body != "{\"bans\":[]}\n" {
		t.Error("after the lift and a restart:", body)
	}
}

// Each action publishes an event. A changed log level is in force until the next reload.
func TestActionsAreEventsAndTheLogLevelChanges(t *testing.T) {
	synctest.Test(t, actionsAreEventsAndTheLogLevelChanges)
}

func actionsAreEventsAndTheLogLevelChanges(t *testing.T) {
	c := config(t)
	level := zerolog.NoLevel
	h := begin(t, Options{Config: c, Dev: true, SetLogLevel: func(l zerolog.Level) { level = l }})
	if status, body := h.act("POST", "/log-level?level=debug"); status != 200 || body != "{\"level\":\"debug\"}\n" || level != zerolog.DebugLevel {
		t.Fatal(status, body)
	}
	synctest.Wait()
	if recent, _, _ := h.events.Since(0); len(recent) != 1 || !strings.Contains(string(recent[0]), `"detail-type":"Troupe Operator Event"`) ||
		!strings.Contains(string(recent[0]), `"detail":{"type":"OperatorAction","action":"set log level","target":"debug","by":"this machine","result":"done"}`) {
		t.Errorf("%q", recent)
	}
	const mine = `{"key":"log.level","value":"debug","origin":"operator this machine, until the next reload"`
	if _, body := h.act("GET", "/settings"); !strings.Contains(body, mine) {
		t.Error(body)
	}
	if _, _, err := h.Reload(c); err != nil || level != zerolog.InfoLevel {
		t.Error(err)
	}
	if _, body := h.act("GET", "/log-level"); body != "{\"level\":\"info\"}\n" {
		t.Error(body)
	}
	if _, body := h.act("GET", "/settings"); strings.Contains(body, "operator this machine") {
		t.Error("after a reload the level is said to be an operator's")
	}
}

// Starting and cancelling a drain publishes an event and writes a log line, at each of the operator's two
// addresses.
func TestDrainsAreTold(t *testing.T) { synctest.Test(t, drainsAreTold) }

func drainsAreTold(t *testing.T) {
	log := new(sharedLog)
	h := begin(t, Options{Config: config(t), Log: log.at(zerolog.InfoLevel), Dev: true})
	h.seat(`{"playerId": "ann"}`) // the running player session keeps the drain from ending
	h.act("GET", "/me")           // gets the CSRF token
	want := map[string]int{}
	for _, path := range []string{"/admin/v1/drain", "/debug/drain"} {
		for _, step := range []struct {
			method, query, told string
			status              int
		}{
			{"POST", "?grace=1h", `"action":"drain","target":"1h","by":"this machine","result":"done"`, 200},
			{"DELETE", "", `"action":"cancel drain","by":"this machine","result":"done"`, 200},
			{"DELETE", "", `"action":"cancel drain","by":"this machine","result":"Conflict"`, http.StatusConflict},
			{"POST", "?grace=169h", `"action":"drain","target":"169h","by":"this machine","result":"BadRequest"`, http.StatusBadRequest},
		} {
			want[step.told]++
			if status, _, body := h.call(step.method, path+step.query, ""); status != step.status {
				t.Fatal(step, path, status, body)
			}
		}
	}
	synctest.Wait()
	recent, _, _ := h.events.Since(0)
	all := string(bytes.Join(recent, nil))
	for told, n := range want {
		if strings.Count(all, told) != n {
			t.Errorf("not %d times %s in %s", n, told, all)
		}
	}
	h.Close()
	if n := strings.Count(log.String(), `"message":"an operator acts"`); n != 8 {
		t.Errorf("%d lines in\n%s", n, log)
	}
}

// The configuration is shown without secrets.
func TestTheSettingsShowNoSecret(t *testing.T) { synctest.Test(t, theSettingsShowNoSecret) }

func theSettingsShowNoSecret(t *testing.T) {
	c := config(t)
	c.API.TrustLoopback = true
	c.API.Keys = []APIKey{{ID: "KEYONE", Secret: "the-secret-of-the-key", SessionToken: "the-token-of-the-key"}}
	c.Events.SSE.Secret = "the-secret-of-the-stream"
	c.Events.Sinks = []EventSink{{Name: "hook", Type: "webhook-raw", URL: "http://me:the-password@127.0.0.1:1/x?key=the-key-in-the-url", Secret: "the-secret-of-the-hook", All: true}}
	_, body := begin(t, Options{Config: c, Origin: func(key string) string { return "origin of " + key }}).act("GET", "/settings")
	if strings.Contains(body, "the-") {
		t.Error(body)
	}
	var all struct {
		Settings []struct{ Key, Value, Origin string }
	}
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, s := range all.Settings {
		shown[s.Key] = s.Value
		if s.Origin != "origin of "+s.Key {
			t.Errorf("%+v", s)
		}
	}
	if shown["reconnect.window"] != "30s" || shown["events.sse.secret"] != hiddenValue || !strings.Contains(shown["api.keys"], "KEYONE") || shown["api.trustLoopback"] != "true" {
		t.Error(body)
	}
}

// Each log line about a player's connection names the player. The line about a kick names the operator and
// the reason.
func TestLinesAboutAConnectionNameItsPlayer(t *testing.T) {
	synctest.Test(t, linesAboutAConnectionNameItsPlayer)
}

func linesAboutAConnectionNameItsPlayer(t *testing.T) {
	log := new(sharedLog)
	h := begin(t, Options{Config: config(t), Log: log.at(zerolog.DebugLevel), Dev: true})
	ann, err := h.dial(h.seat(`{"playerId": "ann"}`).PlayerSessionID, true)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "her fast channel", func() bool { return strings.Contains(log.String(), `"message":"fast channel confirmed"`) })
	if status, body := h.act("POST", "/players/kick?player=ann&reason=rude"); status != 200 {
		t.Fatal(status, body)
	}
	<-ann.Done()
	synctest.Wait()
	said := map[string]map[string]any{}
	for line := range strings.Lines(log.String()) {
		var f map[string]any
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		said[f["message"].(string)] = f
		if _, of := f["peer"]; of && f["player_id"] != "ann" {
			t.Error("a line without the player:", line)
		}
	}
	const why = "by an operator (this machine): rude"
	if f := said["player lost: its player session ends"]; f["player_id"] != "ann" || f["reason"] != "kicked: "+why {
		t.Errorf("%v", f)
	}
	if f := said["connection ended"]; f["player_id"] != "ann" || f["reason"] != "kicked" || f["by"] != "host" || f["cause"] != why {
		t.Errorf("%v", f)
	}
}

// disk is a store whose commits complete only when the test calls answer.
type disk struct {
	store.Store
	waiting []func(error)
}

func (d *disk) Commit(_ []store.Change, done func(error)) { d.waiting = append(d.waiting, done) }

// answer completes the oldest commit.
func (d *disk) answer(err error) {
	first := d.waiting[0]
	d.waiting = d.waiting[1:]
	first(err)
}

// over returns a cancelled context, as of a caller who has disconnected while the operation continues.
func over(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A change of the bans that the store refuses changes nothing, also not for a banned player. A change whose
// caller stops waiting still takes effect once it is durable. Other changes wait for it.
func TestBansAreWhatTheStoreHas(t *testing.T) {
	d := new(disk)
	h := &Host{store: d, bans: bans.New(), banning: make(chan struct{}, 1)}
	ban := messages.Ban{Player: "ann", Until: time.Now().Add(time.Hour)}
	h.bans.Put(ban, nil)
	ask := func(change func(context.Context) error) error {
		t.Helper()
		for {
			if err := change(over(t)); !errors.Is(err, context.Canceled) || len(d.waiting) > 0 {
				return err
			}
		}
	}
	full := errors.New("the disk is full")

	longer := ban
	longer.Until = ban.Until.Add(time.Hour)
	if err := ask(func(ctx context.Context) error { return h.Ban(ctx, longer) }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if all := h.bans.All(time.Now()); len(all) != 1 || !all[0].Until.Equal(ban.Until) {
		t.Errorf("before it is durable: %v", all)
	}
	if _, err := h.LiftBan(over(t), "ann"); !errors.Is(err, context.Canceled) || len(d.waiting) != 1 {
		t.Errorf("two changes at once: %v", err)
	}
	d.answer(full)
	if all := h.bans.All(time.Now()); len(all) != 1 || !all[0].Until.Equal(ban.Until) {
		t.Errorf("the earlier ban: %v", all)
	}

	lift := func(ctx context.Context) error { _, err := h.LiftBan(ctx, "ann"); return err }
	ask(lift)
	d.answer(full)
	if !h.bans.Has("ann", time.Now()) {
		t.Error("lifted, and after a restart she is banned again")
	}
	ask(lift)
	d.answer(nil)
	if h.bans.Has("ann", time.Now()) {
		t.Error("not lifted")
	}
	ask(func(ctx context.Context) error { return h.Ban(ctx, ban) })
	d.answer(nil)
	if !h.bans.Has("ann", time.Now()) {
		t.Error("she is in the store, and not kept out")
	}

	h.store = refuses{}
	if err := h.Ban(t.Context(), ban); !errors.Is(err, &messages.Error{Code: messages.Unavailable}) {
		t.Error(err)
	}
}

// refuses is a store whose commits fail.
type refuses struct{ store.Store }

func (refuses) Commit(_ []store.Change, done func(error)) { done(store.ErrBusy) }
