package acceptance_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/sdkclient"
)

// row identifies a record in the file of a store.
type row struct{ kind, id string }

func (r row) String() string { return r.kind + " " + r.id }

// rows returns the values of all records of a store file. No host may have it open.
func rows(t *testing.T, path string) map[row]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Query("SELECT kind, id, value FROM records")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	all := make(map[row]string)
	for list.Next() {
		var r row
		var value []byte
		if err := list.Scan(&r.kind, &r.id, &value); err != nil {
			t.Fatal(err)
		}
		all[r] = string(value)
	}
	return all
}

// change runs a statement on a copy of a store, once for each of the given records.
func change(t *testing.T, path, statement string, of ...row) (changed string) {
	t.Helper()
	changed = filepath.Join(t.TempDir(), "store.db")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(changed, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", changed)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, r := range of {
		done, err := db.Exec(statement+" WHERE kind = ? AND id = ?", r.kind, r.id)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := done.RowsAffected(); n != 1 {
			t.Fatalf("%d records changed", n)
		}
	}
	return changed
}

// damage changes the first byte of a value, as a faulty disk might. The first byte of a secret may have any
// value.
const damage = `UPDATE records SET value = CAST(CASE CAST(substr(value, 1, 1) AS BLOB) WHEN x'21' THEN x'22' ELSE x'21' END || substr(value, 2) AS BLOB)`

// world is a store with records of every kind, written by a real host.
type world struct {
	path    string
	fleet   messages.FleetID
	alias   messages.AliasID
	session messages.GameSessionID
	token   string
	rows    map[row]string
}

// stored configures a host with a store, and with an unreachable destination of events.
func stored(path string) func(*host.Config) {
	return func(c *host.Config) {
		c.Store = host.Store{Path: path}
		c.Builds.Storage, c.Builds.Dir = filepath.Dir(path), path+"-builds"
		c.Events.Sinks = []host.EventSink{{Name: "away", Type: "webhook-raw", URL: "http://127.0.0.1:1/", Secret: strings.Repeat("s", 40), All: true}}
	}
}

// write runs a host that writes the store.
func (w *world) write(t *testing.T) {
	h := startHost(t, stored(w.path), nil)
	s, ctx := h.host.System(), t.Context()
	_, id := h.scriptFleet(archive(map[string]string{"lib/main.js": says("one")}))
	w.fleet = messages.FleetID(id)
	build, err := messages.Do(ctx, s, messages.CreateBuild{Name: "no bucket", Bucket: "none", Key: "arena.zip"})
	if err != nil {
		t.Fatal(err)
	}
	h.until("the build is FAILED", func() error {
		all, err := messages.Do(ctx, s, messages.BuildQuery{ID: build.ID})
		if err == nil && all[0].Status != messages.BuildFailed {
			err = fmt.Errorf("it is %s", all[0].Status)
		}
		return err
	})
	if _, err := messages.Do(ctx, s, messages.CreateLocation{Location: messages.Location{Name: "custom-attic"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := messages.Do(ctx, s, messages.AddFleetLocations{FleetID: w.fleet, Locations: []string{"custom-attic"}}); err != nil {
		t.Fatal(err)
	}
	anywhere, err := messages.Do(ctx, s, messages.CreateFleet{Name: "anywhere", Anywhere: true, Locations: []string{"custom-attic"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := messages.Do(ctx, s, messages.RegisterCompute{Compute: messages.Compute{FleetID: anywhere.ID, Name: "box", Location: "custom-attic", IPAddress: "10.1.2.3"}}); err != nil {
		t.Fatal(err)
	}
	auth, err := messages.Do(ctx, s, messages.AuthorizeCompute{FleetID: anywhere.ID, Name: "box"})
	if err != nil {
		t.Fatal(err)
	}
	process, err := sdkclient.Init(ctx, sdkclient.Options{
		URL: h.host.Addrs().ServerSDK, ProcessID: "p", HostID: "box", FleetID: string(anywhere.ID), AuthToken: auth.Token, Dial: h.Net.DialContext,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Ready(ctx, 7777); err != nil {
		t.Fatal(err)
	}
	process.Destroy() // without a goodbye: it is expected back
	process.Wait()
	a, err := messages.Do(ctx, s, messages.CreateAlias{Name: "door", FleetID: w.fleet})
	if err != nil {
		t.Fatal(err)
	}
	w.alias = a.ID
	closed, err := messages.Do(ctx, s, messages.CreateAlias{Name: "closed", Message: "no"})
	if err != nil {
		t.Fatal(err)
	}
	for name, alias := range map[messages.QueueName]messages.AliasID{"open": w.alias, "shut": closed.ID} {
		if _, err := messages.Do(ctx, s, messages.CreateQueue{Queue: messages.Queue{Name: name, Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:us-east-1::alias/" + string(alias)}}}); err != nil {
			t.Fatal(err)
		}
	}
	for id, queue := range map[messages.PlacementID]messages.QueueName{"placed": "open", "waits": "shut"} {
		if _, err := messages.Do(ctx, s, messages.StartPlacement{ID: id, Queue: queue, MaxPlayers: 4, Players: []messages.NewPlayer{{PlayerID: "anna"}}}); err != nil {
			t.Fatal(err)
		}
	}
	h.until("the placement is FULFILLED", func() error {
		p, err := messages.Do(ctx, s, messages.PlacementQuery{ID: "placed"})
		if err == nil && p.Status != messages.PlacementFulfilled {
			err = fmt.Errorf("it is %s", p.Status)
		}
		return err
	})
	g, err := messages.Do(ctx, s, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 2, IdempotencyToken: w.token, CreatorID: "anna"})
	if err != nil {
		t.Fatal(err)
	}
	w.session = g.ID
	// Configured resources have records, too, after the API has changed them.
	if _, err := messages.Do(ctx, s, messages.UpdateFleet{FleetID: "fleet-dev", CreatorLimit: &messages.CreatorLimit{PerPeriod: 9, Period: time.Minute}}); err != nil {
		t.Fatal(err)
	}
	if _, err := messages.Do(ctx, s, messages.UpdateAlias{ID: "alias-dev", Description: aws.String("changed")}); err != nil {
		t.Fatal(err)
	}
	if _, err := messages.Do(ctx, s, messages.UpdateQueue{Name: "queue-dev", Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	// A searching ticket, and a match that waits for its players to accept.
	const rules = `{"ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":1,"maxPlayers":1}]}`
	if _, err := messages.Do(ctx, s, messages.CreateRuleSet{RuleSet: messages.RuleSet{Name: "solo", Body: rules}}); err != nil {
		t.Fatal(err)
	}
	for name, k := range map[messages.TicketID]messages.Matchmaker{ // a match that is being played
		"plays": {Name: "plays", RuleSet: "solo", Queues: []messages.QueueName{"open"}, RequestTimeout: time.Hour},
	} {
		if _, err := messages.Do(ctx, s, messages.CreateMatchmaker{Matchmaker: k}); err != nil {
			t.Fatal(err)
		}
		if _, err := messages.Do(ctx, s, messages.StartMatchmaking{TicketID: name, Matchmaker: k.Name, Players: []messages.TicketPlayer{{ID: messages.PlayerID(name)}}}); err != nil {
			t.Fatal(err)
		}
		h.until("the match plays", func() error {
			found, err := messages.Do(ctx, s, messages.TicketQuery{IDs: []messages.TicketID{name}})
			if err == nil && found[0].Status != messages.TicketCompleted {
				err = fmt.Errorf("the ticket is %s", found[0].Status)
			}
			return err
		})
	}
	asks := messages.Matchmaker{Name: "asks", RuleSet: "solo", Standalone: true, RequestTimeout: time.Hour, AcceptanceRequired: true, AcceptanceTimeout: 10 * time.Minute}
	if _, err := messages.Do(ctx, s, messages.CreateMatchmaker{Matchmaker: asks}); err != nil {
		t.Fatal(err)
	}
	for id, matcher := range map[messages.TicketID]messages.MatchmakerName{"asked": "asks", "waiting": "match-dev"} {
		if _, err := messages.Do(ctx, s, messages.StartMatchmaking{TicketID: id, Matchmaker: matcher, Players: []messages.TicketPlayer{{ID: messages.PlayerID(id)}}}); err != nil {
			t.Fatal(err)
		}
	}
	h.until("there is a match", func() error {
		found, err := messages.Do(ctx, s, messages.TicketQuery{IDs: []messages.TicketID{"asked"}})
		if err == nil && found[0].Status != messages.TicketRequiresAcceptance {
			err = fmt.Errorf("the ticket is %s", found[0].Status)
		}
		return err
	})
	if err := h.host.Ban(ctx, messages.Ban{Player: "eve", Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	h.host.Close()
	w.rows = rows(t, w.path)
	for _, kind := range lastingKinds() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(w.rows)), func(r row) bool { return r.kind == string(kind) }) {
			t.Fatalf("there is no %s in the store", kind)
		}
	}
}

// lastingKinds are the kinds of records that remain after an orderly stop of the host.
func lastingKinds() []store.Kind {
	return slices.DeleteFunc(store.Kinds(), func(kind store.Kind) bool { return kind == store.Trial })
}

// shown returns the records that the API shows. intact checks the others.
func (w *world) shown() []row {
	return slices.DeleteFunc(w.ordered(), func(r row) bool {
		return slices.Contains([]store.Kind{store.Ban, store.Content, store.Event, store.Secret, store.Match, store.MatchedGame, store.Process}, store.Kind(r.kind))
	})
}

// ordered returns the records, always in the same order.
func (w *world) ordered() []row {
	return slices.SortedFunc(maps.Keys(w.rows), func(a, b row) int { return strings.Compare(a.String(), b.String()) })
}

// first returns one record of a kind that is not from the configuration.
func (w *world) first(kind store.Kind) row {
	all := w.ordered()
	return all[slices.IndexFunc(all, func(r row) bool { return r.kind == string(kind) && !r.configured() })]
}

// spoken is a log that the test can read.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// lines returns the log lines of a level.
func (s *spoken) lines(level string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.text.String()) {
		if strings.Contains(line, `"level":"`+level+`"`) {
			all = append(all, line)
		}
	}
	return all
}

// start starts a host and checks that it is healthy.
func (w *world) start(t *testing.T, path string) (*testHost, *spoken) {
	t.Helper()
	log := new(spoken)
	h := startHostWith(t, stored(path), func(o *host.Options) { o.Log = zerolog.New(log) })
	synctest.Wait() // events are read in parallel with the start
	for _, page := range []string{"/healthz", "/readyz"} {
		r, err := h.Web.Get("http://" + h.host.Addrs().API + page)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", page, r.Status)
		}
	}
	return h, log
}

// shows reports whether the API of a host shows a record.
func shows(h *testHost, r row) bool {
	s, ctx := h.host.System(), h.context()
	found := func(n int, err error) bool { return err == nil && n > 0 }
	switch store.Kind(r.kind) {
	case store.Script:
		all, err := messages.Do(ctx, s, messages.ScriptQuery{ID: messages.ScriptID(r.id)})
		return found(len(all), err)
	case store.Build:
		all, err := messages.Do(ctx, s, messages.BuildQuery{ID: messages.BuildID(r.id)})
		return found(len(all), err)
	case store.Fleet:
		all, err := messages.Do(ctx, s, messages.FleetQuery{})
		return err == nil && slices.ContainsFunc(all, func(f *messages.Fleet) bool { return string(f.ID) == r.id })
	case store.Alias:
		all, err := messages.Do(ctx, s, messages.AliasQuery{ID: messages.AliasID(r.id)})
		return found(len(all), err)
	case store.Location:
		all, err := messages.Do(ctx, s, messages.LocationQuery{})
		return err == nil && slices.ContainsFunc(all, func(l messages.Location) bool { return l.Name == r.id })
	case store.Compute:
		fleet, name, _ := strings.Cut(r.id, "/")
		_, err := messages.Do(ctx, s, messages.ComputeQuery{FleetID: messages.FleetID(fleet), Name: name})
		return err == nil
	case store.Queue:
		all, err := messages.Do(ctx, s, messages.QueueQuery{})
		return err == nil && slices.ContainsFunc(all, func(q *messages.Queue) bool { return string(q.Name) == r.id })
	case store.Placement:
		_, err := messages.Do(ctx, s, messages.PlacementQuery{ID: messages.PlacementID(r.id)})
		return err == nil
	case store.RuleSet:
		all, err := messages.Do(ctx, s, messages.RuleSetQuery{})
		return err == nil && slices.ContainsFunc(all, func(x *messages.RuleSet) bool { return string(x.Name) == r.id })
	case store.Matchmaker:
		all, err := messages.Do(ctx, s, messages.MatchmakerQuery{})
		return err == nil && slices.ContainsFunc(all, func(k *messages.Matchmaker) bool { return string(k.Name) == r.id })
	case store.Ticket:
		all, err := messages.Do(ctx, s, messages.TicketQuery{IDs: []messages.TicketID{messages.TicketID(r.id)}})
		return found(len(all), err)
	case store.GameSession:
		_, err := messages.Do(ctx, s, messages.GameSessionQuery{ID: messages.GameSessionID(r.id)})
		return found(1, err)
	case store.PlayerSession:
		all, err := messages.Do(ctx, s, messages.PlayerSessionQuery{PlayerSessionID: messages.PlayerSessionID(r.id)})
		return found(len(all), err)
	}
	panic(r.kind)
}

// intact checks a store after a host has run with damaged records. All other records must exist. The damaged
// ones must exist as well, or be kept separately if the host has created new ones.
func (w *world) intact(t *testing.T, path string, damaged ...row) {
	t.Helper()
	r, err := store.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Check(t.Context())
	if err != nil || len(report.Broken) > 0 {
		t.Fatal(err, report.Broken)
	}
	r.Close()
	var named []row
	for _, d := range report.Damaged {
		named = append(named, row{string(d.Kind), d.ID})
	}
	kept, _ := os.ReadFile(path + store.DamagedSuffix)
	for _, d := range damaged {
		if d.kind == string(store.Secret) {
			if !bytes.Contains(kept, []byte(d.id)) || slices.Contains(named, d) {
				t.Errorf("%v: there is no new one, or the old one is not kept: %s", d, kept)
			}
		} else if !slices.Contains(named, d) {
			t.Errorf("%v is not in the store any more", d)
		}
	}
	now := rows(t, path)
	for r := range w.rows {
		// its other tickets search again
		dropped := r.kind == string(store.Match) && slices.ContainsFunc(damaged, func(d row) bool {
			return d.kind == string(store.Ticket) || d.kind == string(store.Matchmaker)
		})
		dropped = dropped || r.kind == string(store.MatchedGame) // the stop of the host has ended its game session
		if _, there := now[r]; !there && !dropped {
			t.Errorf("%v is gone from the store", r)
		}
	}
}

// configured reports whether a record belongs to a configured resource.
func (r row) configured() bool {
	return r == row{"fleet", "fleet-dev"} || r == row{"alias", "alias-dev"} || r == row{"queue", "queue-dev"}
}

// hidden reports whether a record is not shown while others are damaged.
func (w *world) hidden(r row, damaged []row) bool {
	if slices.Contains(damaged, r) {
		return !r.configured()
	}
	return slices.ContainsFunc(damaged, func(d row) bool {
		of := r.kind == string(store.PlayerSession) && d.kind == string(store.GameSession) || r.kind == string(store.Compute) && d.kind == string(store.Fleet)
		return of && strings.Contains(w.rows[r], d.id)
	})
}

func (w *world) check(t *testing.T, h *testHost, log *spoken, damaged ...row) {
	t.Helper()
	for _, r := range w.shown() {
		if got, want := shows(h, r), !w.hidden(r, damaged); got != want {
			t.Errorf("%v is shown: %t", r, got)
		}
	}
	if n := h.host.Counters().StoreDamaged.Load(); n != int64(len(damaged)) {
		t.Errorf("%d damaged records are counted: %s", n, log.lines("error"))
	}
	lines := log.lines("error")
	for _, d := range damaged {
		name := strings.ReplaceAll(store.Damage{Kind: store.Kind(d.kind), ID: d.id}.Name(), "\n", `\n`)
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.Contains(line, `"record":"`+name) && strings.Contains(line, `"means":"`)
		}) {
			t.Errorf("the log does not say that %s is damaged: %s", name, lines)
		}
	}
}

// TestDamagedRecords damages a store that a host has written, with records of every kind.
func TestDamagedRecords(t *testing.T) {
	w := &world{path: filepath.Join(t.TempDir(), "store.db"), token: "token-of-a-game"}
	synctest.Test(t, w.write)
	t.Run("any", w.startsWithAnyDamaged)
	t.Run("missing", w.startsWithoutAny)
	bubble(t, "ids", w.idsAreNotUsedAgain)
	bubble(t, "events", w.damageIsAFleetEvent)
	bubble(t, "keys", w.keysAreDamaged)
	t.Run("senseless", w.startsWithSenseless)
}

// startsWithAnyDamaged damages each record in turn. The host starts nevertheless. All other records exist.
// The damaged one is counted, logged, and stays in the store.
func (w *world) startsWithAnyDamaged(t *testing.T) {
	for i, r := range w.ordered() {
		bubble(t, fmt.Sprint(r.kind, i), func(t *testing.T) {
			path := change(t, w.path, damage, r)
			h, log := w.start(t, path)
			w.check(t, h, log, r)
			h.host.Close()
			w.intact(t, path, r)
		})
	}
	bubble(t, "all", func(t *testing.T) {
		path := change(t, w.path, damage, w.ordered()...)
		h, log := w.start(t, path)
		w.check(t, h, log, w.ordered()...)
		h.newGame(1) // uses configured resources
		h.host.Close()
		w.intact(t, path, w.ordered()...)
	})
}

// startsWithoutAny removes records that other records refer to. The host starts nevertheless.
func (w *world) startsWithoutAny(t *testing.T) {
	for _, kind := range lastingKinds() {
		r := w.first(kind)
		bubble(t, r.kind, func(t *testing.T) {
			h, log := w.start(t, change(t, w.path, "DELETE FROM records", r))
			for _, other := range w.shown() {
				if want := !w.hidden(other, []row{r}) || r.configured(); shows(h, other) != want {
					t.Errorf("%v is shown: %t", other, !want)
				}
			}
			if needed := r.kind == string(store.Script) || r.kind == string(store.Content); needed != (h.host.Counters().StoreDamaged.Load() == 1) {
				t.Errorf("%d damaged records are counted: %s", h.host.Counters().StoreDamaged.Load(), log.lines("error"))
			}
		})
	}
}

// startsWithSenseless replaces records by values that were not damaged, but make no sense.
func (w *world) startsWithSenseless(t *testing.T) {
	for _, value := range []string{"null", "{}", "[]", `"x"`, "{"} {
		bubble(t, value, func(t *testing.T) {
			path := change(t, w.path, "")
			var all []row
			var changes []store.Change
			for _, kind := range lastingKinds() {
				if kind == store.Script { // without the record, nobody knows what its content is
					continue
				}
				r := w.first(kind)
				all = append(all, r)
				changes = append(changes, store.Change{Kind: kind, ID: r.id, Value: []byte(value)})
			}
			tamper(t, path, changes...)
			h, log := w.start(t, path)
			w.check(t, h, log, all...)
			h.host.Close()
			now := rows(t, path)
			for r := range w.rows {
				// a match without its tickets is dropped
				if _, there := now[r]; !there && r.kind != string(store.Match) && r.kind != string(store.MatchedGame) {
					t.Errorf("%v is gone from the store", r)
				}
			}
		})
	}
}

// idsAreNotUsedAgain checks that ids are not reused because their records are damaged: those of game
// sessions, placements and player sessions.
func (w *world) idsAreNotUsedAgain(t *testing.T) {
	game, placement := row{"gamesession", string(w.session)}, row{"placement", "placed"}
	seat := w.first(store.PlayerSession)
	path := change(t, w.path, damage, game, placement, seat)
	for range 2 { // the second start must give the same result
		h, _ := w.start(t, path)
		s, ctx := h.host.System(), h.context()
		if _, err := messages.Do(ctx, s, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 2, IdempotencyToken: w.token, CreatorID: "anna"}); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("a game session's id is used twice: %v", err)
		}
		for _, queue := range []messages.QueueName{"open", "queue-dev"} {
			if _, err := messages.Do(ctx, s, messages.StartPlacement{ID: "placed", Queue: queue, MaxPlayers: 1}); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("a placement's id is used twice: %v", err)
			}
		}
		if got := s.PlayerSession(messages.PlayerSessionID(seat.id)); got != 0 {
			t.Errorf("a player session whose record is damaged is %s", got)
		}
		h.host.Close()
	}
	w.intact(t, path, game, placement, seat)
}

// damageIsAFleetEvent checks that the events of a fleet report what the fleet has lost.
func (w *world) damageIsAFleetEvent(t *testing.T) {
	script := w.first(store.Script)
	h, _ := w.start(t, change(t, w.path, damage, script, row{"fleet", "fleet-dev"}, row{"location", "custom-attic"}, row{"gamesession", string(w.session)}))
	for fleet, want := range map[string][]string{
		string(w.fleet): {"script " + script.id + " is not known here: its record in the store is damaged", "location custom-attic"},
		"fleet-dev":     {"it is as the configuration says", "1 ended game sessions"},
	} {
		out := done[*gamelift.DescribeFleetEventsOutput](h)(h.api.DescribeFleetEvents(h.context(), &gamelift.DescribeFleetEventsInput{FleetId: &fleet}))
		var said []string
		for _, e := range out.Events {
			said = append(said, *e.Message)
		}
		for _, text := range want {
			if !strings.Contains(strings.Join(said, "\n"), text) {
				t.Errorf("the events of %s do not say %q: %q", fleet, text, said)
			}
		}
	}
}

// keysAreDamaged damages the kind or the id of records, so that no query finds them. The host reports them,
// and deletes nothing because they are missing.
func (w *world) keysAreDamaged(t *testing.T) {
	game := row{string(store.GameSession), w.gameOfSeat()}
	path := change(t, w.path, `UPDATE records SET kind = 'fleeu'`, row{"fleet", string(w.fleet)})
	path = change(t, path, `UPDATE records SET id = id || '!'`, game)
	h, log := w.start(t, path)
	if n := h.host.Counters().StoreDamaged.Load(); n != 2 {
		t.Errorf("%d damaged records are counted: %s", n, log.lines("error"))
	}
	for _, name := range []string{"fleeu " + string(w.fleet), game.String() + "!"} {
		if !slices.ContainsFunc(log.lines("error"), func(line string) bool { return strings.Contains(line, `"record":"`+name+`"`) }) {
			t.Errorf("the log does not name %s: %s", name, log.lines("error"))
		}
	}
	h.host.Close()
	now := rows(t, path)
	for r := range w.rows {
		if _, there := now[r]; !there && r != game && r != (row{"fleet", string(w.fleet)}) && r.kind != string(store.MatchedGame) {
			t.Errorf("%v is gone from the store", r)
		}
	}
}

// gameOfSeat returns the game session of the player session.
func (w *world) gameOfSeat() string {
	seat := w.rows[w.first(store.PlayerSession)]
	for r := range w.rows {
		if r.kind == string(store.GameSession) && strings.Contains(seat, r.id) {
			return r.id
		}
	}
	return ""
}
