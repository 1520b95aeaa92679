package scripts

import (
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"troupe/actors/script"
	"troupe/transport/transporttest/stock"
)

// play is a scripted game on a world. Each line is one step. N is a player's peer id, and TEXT is the rest of
// the line, or bytes as 0x....
//
//	join N TEXT          log in with TEXT as the connection payload; the player gets peer id N
//	refused N TEXT       the same, but the login is refused
//	send N OP TO TEXT    send a reliable message; TO is server, a peer id, or group:ID
//	group N join ID      request to join a group, or to leave it
//	expect N OP TEXT     wait for the player's next packet with the op code; TEXT is its payload
//	update N ID A,B      wait for a membership update of group ID with these members
//	log TEXT             wait for a line of the log that contains TEXT
//	leave N              close the connection like the SDK
//	terminate            the host ends the process
//	closed N             wait for the end of the connection
type play struct {
	*world
	game    string
	players map[int32]*stock.Client
	seats   []string
}

// run executes all steps.
func (p *play) run(steps string) {
	p.Helper()
	for i, line := range strings.Split(steps, "\n") {
		if line = strings.TrimRight(line, "\r"); line == "" || line[0] == '#' {
			continue
		}
		p.step(fmt.Sprintf("line %d: %s", i+1, line), line)
		if p.Failed() {
			return
		}
	}
}

// cut returns the first n words of a line, and the rest of it.
func cut(line string, n int) (words []string, rest string) {
	rest = line
	for range n {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		words = append(words, word)
	}
	return words, rest
}

// payload returns the bytes of a TEXT.
func payload(text string) []byte {
	if raw, ok := strings.CutPrefix(text, "0x"); ok {
		if b, err := hex.DecodeString(raw); err == nil {
			return b
		}
	}
	return []byte(text)
}

func number(word string) int32 {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil {
		panic(err) // the play is invalid
	}
	return int32(n)
}

func (p *play) step(where, line string) {
	p.Helper()
	command, rest := cut(line, 1)
	switch command[0] {
	case "log":
		p.log.await(p, rest)
		return
	case "terminate":
		p.terminate(p.game)
		return
	}
	words, text := cut(rest, 1)
	n := number(words[0])
	c := p.players[n]
	switch command[0] {
	case "join", "refused":
		p.enter(where, n, payload(text), command[0] == "join")
	case "leave":
		c.Close()
	case "closed":
		p.awaitClose(c)
	case "send":
		words, text := cut(text, 2)
		m := stock.Message{OpCode: number(words[0]), TargetPlayer: stock.ServerID, Payload: payload(text), Reliable: true}
		if group, ok := strings.CutPrefix(words[1], "group:"); ok {
			m.TargetPlayer, m.TargetGroup = 0, number(group)
		} else if words[1] != "server" {
			m.TargetPlayer = number(words[1])
		}
		p.send(c, m)
	case "group":
		words, _ := cut(text, 2)
		ask := c.JoinGroup
		if words[0] == "leave" {
			ask = c.LeaveGroup
		}
		if err := ask(number(words[1])); err != nil {
			p.Fatal(where, ": ", err)
		}
	case "expect":
		p.expect(where, c, text)
	case "update":
		p.update(where, c, text)
	default:
		p.Fatal(where, ": no such step")
	}
}

func (p *play) enter(where string, n int32, payload []byte, admitted bool) {
	p.Helper()
	seat := p.seat(p.game, fmt.Sprintf("player-%d", n))
	p.seats = append(p.seats, seat)
	c := p.dial(seat, stock.Options{NoUDP: true, Payload: payload})
	r, err := c.AwaitLogin(p.context())
	if r.Success != admitted || admitted && err != nil {
		p.Fatalf("%s: login %+v, %v; log:\n%s", where, r, err, p.log)
	}
	if !admitted {
		return
	}
	if c.PeerID() != n {
		p.Fatalf("%s: peer id %d", where, c.PeerID())
	}
	p.players[n] = c
}

func (p *play) expect(where string, c *stock.Client, text string) {
	p.Helper()
	words, text := cut(text, 1)
	e, err := c.Expect(p.context(), stock.Op(number(words[0])))
	if err != nil {
		p.Fatalf("%s: %v; log:\n%s", where, err, p.log)
	}
	if text != "" && string(e.Payload) != string(payload(text)) {
		p.Fatalf("%s: the payload is %q", where, e.Payload)
	}
}

func (p *play) update(where string, c *stock.Client, text string) {
	p.Helper()
	words, _ := cut(text, 2)
	var want []int32
	for _, m := range strings.FieldsFunc(words[1], func(r rune) bool { return r == ',' }) {
		want = append(want, number(m))
	}
	_, err := c.Expect(p.context(), func(e stock.Event) bool {
		u := e.GroupMembershipUpdate
		return u != nil && u.Group == number(words[0]) && slices.Equal(u.Players, want)
	})
	if err != nil {
		p.Fatalf("%s: %v; log:\n%s", where, err, p.log)
	}
}

// trace returns the result of a play: all packets of each player in order, and the lines that the script
// logged, without times. Ids that differ between runs are replaced by names.
func (p *play) trace() string {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(p.players)) {
		for _, e := range p.players[n].Log() {
			fmt.Fprintf(&b, "player %d: %s\n", n, shown(e))
		}
	}
	for _, l := range p.log.all() {
		if scriptLine(l) {
			fmt.Fprintf(&b, "log: [%v] (%s) %d: %s\n", l.Level, l.File, l.Row, wording.ReplaceAllString(l.Text, "$1"))
		}
	}
	replace := []string{p.game, "GAME-SESSION"}
	for i, s := range p.seats {
		replace = append(replace, s, fmt.Sprintf("PLAYER-SESSION-%d", i+1))
	}
	return strings.NewReplacer(replace...).Replace(b.String())
}

// shown describes a packet.
func shown(e stock.Event) string {
	if e.LoginResult != nil {
		return fmt.Sprintf("login %v as %d", e.LoginResult.Success, e.LoginResult.PeerID)
	}
	if u := e.GroupMembershipUpdate; u != nil {
		return fmt.Sprintf("group %d has %v", u.Group, u.Players)
	}
	return fmt.Sprintf("op %d from %d to player %d group %d reliable %v: %q", e.OpCode, e.Sender, e.TargetPlayer, e.TargetGroup, e.Reliable, e.Payload)
}

var scriptFile = regexp.MustCompile(`^[a-z]+\.[cm]?[jt]s$`)

// scriptLine reports whether a line was written by the script itself.
func scriptLine(l script.Line) bool { return scriptFile.MatchString(l.File) && l.Row > 0 }

// wording matches text that each engine words differently: the texts of errors, and stacks.
var wording = regexp.MustCompile(`(Unhandled promise rejection: \w+Error): (?s:.*)`)
