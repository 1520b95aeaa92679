package admin

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Orders lists the sort orders of the rows and the keys that select them.
var Orders = []struct {
	Key  byte
	Name string
	Text string
}{{'r', "rate", "rate"}, {'w', "queue", "queue"}, {'t', "rtt", "round trip"}, {'p', "players", "players"}}

// Lists selects the tables that are drawn.
type Lists int

// The selections, in the order in which the Tab key cycles through them.
const (
	Both Lists = iota
	GameSessions
	Players
)

// View describes how to draw a frame.
type View struct {
	Columns, Rows int // size of the terminal
	Host          string
	Order         string // name of one of Orders
	Lists         Lists
	// Trouble is the reason why the displayed state is outdated; empty: it is current.
	Trouble string
}

// table is a header and its rows. Columns with index first to end-1 are right-aligned. The columns that a narrow
// terminal may cut off are last.
type table struct {
	header     []string
	rows       [][]string
	first, end int
}

// widest bounds the width of a column. Longer text is truncated.
const widest = 22

func (s *Snapshot) head(host string) []string {
	o := &s.Overview
	state := ""
	if o.Draining {
		state = "  DRAINING"
	}
	up := (time.Duration(o.UptimeSeconds) * time.Second).String()
	silent := ""
	if n := s.Top.GameSessionsSilent; n > 0 {
		silent = fmt.Sprintf(", %d silent", n)
	}
	if o.Nodes > 0 {
		state = fmt.Sprintf("  %d nodes", o.Nodes) + state
	}
	if len(s.Top.SilentNodes) > 0 {
		state += "  silent: " + Cell(strings.Join(s.Top.SilentNodes, ", "))
	}
	lines := []string{
		fmt.Sprintf("troupe %s  %s  up %s  %s%s", Cell(o.Version), host, up, o.At.UTC().Format("15:04:05Z"), state),
		fmt.Sprintf("game sessions: %d active%s   players: %d attached, %d detached, %d reserved   memory: %s", o.GameSessions["active"], silent,
			o.Players["attached"], o.Players["detached"], o.Players["reserved"], bytesOf(o.Process.ResidentBytes)),
		"",
	}
	if r := o.Rates; r != nil {
		lines[2] = fmt.Sprintf("per second: %.0f messages in, %.0f out, %.1f logins, %.1f resumes, %.1f dropped   processors: %.2f of %d",
			r.MessagesIn, r.MessagesDelivered, r.Logins, r.Resumes, r.Dropped, r.CPU, o.Process.Processors)
	}
	return lines
}

func (t *Top) games() table {
	rows := table{header: []string{"GAME SESSION", "PLAYERS", "AWAY", "IN/S", "OUT/S", "QUEUE", "RTT", "SLOWEST", "FLEET", "LOCATION"}, first: 1, end: 8}
	for i := range t.GameSessions {
		g := &t.GameSessions[i]
		away := fmt.Sprint(g.Detached)
		if g.Silent {
			away = "silent"
		}
		rows.rows = append(rows.rows, []string{g.short(), fmt.Sprintf("%d/%d", g.Seats, g.MaxPlayers), away, rate(g.InPerSecond),
			rate(g.OutPerSecond), bytesOf(int64(g.QueueBytes)), trip(g.RTTSeconds), trip(g.RTTMaxSeconds), g.FleetID, g.Location, g.Node})
	}
	return rows.withNodes()
}

func (t *Top) players() table {
	names := make(map[string]string, len(t.GameSessions))
	for i := range t.GameSessions {
		names[t.GameSessions[i].ID] = t.GameSessions[i].short()
	}
	rows := table{header: []string{"PLAYER", "STATE", "VIA", "IN/S", "OUT/S", "QUEUE", "RTT", "GAME SESSION", "ADDRESS"}, first: 3, end: 7}
	for i := range t.Players {
		p := &t.Players[i]
		game := names[p.GameSessionID]
		if game == "" {
			game = lastOf(p.GameSessionID)
		}
		rows.rows = append(rows.rows, []string{p.PlayerID, p.State, p.Transport, rate(p.InPerSecond), rate(p.OutPerSecond),
			bytesOf(int64(p.QueueBytes)), trip(p.RTTSeconds), game, p.Address, p.Node})
	}
	return rows.withNodes()
}

// withNodes gives the last cell of each row the header NODE, or removes it if it is empty, as it is without a cluster.
func (t table) withNodes() table {
	n := len(t.header)
	if slices.ContainsFunc(t.rows, func(row []string) bool { return row[n] != "" }) {
		t.header = append(t.header, "NODE")
		return t
	}
	for i := range t.rows {
		t.rows[i] = t.rows[i][:n]
	}
	return t
}

// Text writes a snapshot as plain tables, for output that is not a terminal.
func Text(out io.Writer, s *Snapshot, host string) error {
	for _, line := range s.head(host) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	for _, t := range []table{s.Top.games(), s.Top.players()} {
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
		if err := PrintTable(out, t.header, t.rows); err != nil {
			return err
		}
	}
	return nil
}

// Frame returns the lines of a frame: at most v.Rows lines, each at most v.Columns wide.
func Frame(s *Snapshot, v View) []string {
	lines := s.head(v.Host)
	if v.Trouble != "" {
		lines = append(lines, inverse("! "+Cell(v.Trouble)))
	}
	lines = append(lines, "")
	free := v.Rows - len(lines) - 1 // the last line shows the keys
	games, players := s.Top.games(), s.Top.players()
	ofGames := free
	switch v.Lists {
	case Players:
		ofGames = 0
	case Both: // each table gets half, plus the space that the other one does not use
		ofGames = max(free/2, free-len(players.rows)-2)
	}
	if v.Lists != Players {
		drawn := games.draw(ofGames, s.Top.GameSessionsRunning)
		lines, free = append(lines, drawn...), free-len(drawn)
	}
	if v.Lists == Both && free > 1 {
		lines, free = append(lines, ""), free-1
	}
	if v.Lists != GameSessions {
		drawn := players.draw(free, s.Top.PlayersInGame)
		lines, free = append(lines, drawn...), free-len(drawn)
	}
	for ; free > 0; free-- {
		lines = append(lines, "")
	}
	keys := "q quit  tab lists  by"
	for _, o := range Orders {
		name := o.Text
		if o.Name == v.Order {
			name = "[" + name + "]"
		}
		keys += fmt.Sprintf("  %c %s", o.Key, name)
	}
	lines = append(lines, keys)
	if n := len(lines) - v.Rows; n > 0 { // on a very low terminal, keep the head and the keys
		lines = append(lines[:max(0, v.Rows-1)], keys)
	}
	for i := range lines {
		lines[i] = cut(lines[i], v.Columns)
	}
	return lines
}

// draw returns at most n lines: a header, and as many rows as fit. all is the number of rows on the host.
func (t *table) draw(n, all int) []string {
	if n <= 0 {
		return nil
	}
	rows := t.rows[:min(len(t.rows), n-1)]
	if len(rows) < all && len(rows) > 0 {
		rows = rows[:min(len(rows), n-2)]
	}
	width := make([]int, len(t.header))
	shown := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{t.header}, rows...) {
		line := make([]string, len(row))
		for i, text := range row {
			line[i] = cut(Cell(text), widest)
			width[i] = max(width[i], utf8.RuneCountInString(line[i]))
		}
		shown = append(shown, line)
	}
	lines := make([]string, 0, n)
	for i, row := range shown {
		var b strings.Builder
		for i, text := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
			if i < t.first || i >= t.end {
				b.WriteString(text + space + "  ")
			} else {
				b.WriteString(space + text + "  ")
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if i == 0 {
			line = inverse(line)
		}
		lines = append(lines, line)
	}
	if more := all - len(rows); more > 0 && len(lines) < n {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	return lines
}

const (
	inverseOn  = "\x1b[7m"
	inverseOff = "\x1b[0m"
)

func inverse(s string) string { return inverseOn + s + inverseOff }

// cut truncates text to n columns and keeps its inverse style.
func cut(s string, n int) string {
	if inner, ok := strings.CutPrefix(s, inverseOn); ok {
		return inverse(cut(strings.TrimSuffix(inner, inverseOff), n))
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n <= 1 {
		return ""
	}
	return string([]rune(s)[:n-1]) + "…"
}
