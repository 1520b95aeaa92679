package play

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"troupe/transport/client"
)

// verb is the kind of a command.
type verb uint8

const (
	verbSay verb = iota + 1
	verbJoin
	verbQuit
	verbHelp
)

// opChat is the op code of chat messages.
const opChat = 1

// command is a parsed line of input.
type command struct {
	verb    verb
	group   int32          // for verbJoin
	message client.Message // for verbSay
}

const chatHelp = `text            send text to all players
/to PEER text   send text to one player
/fast text      send text to all players over the fast channel, which may lose it
/server text    send text to the game's script
/op N [text]    the same with op code N; without /op it is 1
/join G         join group G
/quit           leave the game session`

// parse parses one line. For an empty line it returns the zero command, which does nothing.
func parse(line string) (command, error) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "/") {
		return say(client.Message{TargetGroup: client.AllPlayers}, line)
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "/to":
		name, text, _ := strings.Cut(rest, " ")
		peer, err := strconv.ParseInt(name, 10, 32)
		if err != nil || peer < 1 {
			return command{}, errors.New("/to needs a peer id: /to 2 hello")
		}
		return say(client.Message{TargetPlayer: int32(peer)}, strings.TrimSpace(text))
	case "/server":
		return say(client.Message{TargetPlayer: client.Server}, rest)
	case "/op":
		code, text, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(code, 10, 32)
		if err != nil || n < 1 {
			return command{}, errors.New("/op needs an op code, a positive number: /op 2 hello")
		}
		return send(client.Message{OpCode: int32(n), TargetPlayer: client.Server}, strings.TrimSpace(text))
	case "/fast":
		return say(client.Message{TargetGroup: client.AllPlayers, Intent: client.Fast}, rest)
	case "/join":
		g, err := strconv.ParseInt(rest, 10, 32)
		if err != nil || g < 1 {
			return command{}, errors.New("/join needs a group, a positive number: /join 1")
		}
		return command{verb: verbJoin, group: int32(g)}, nil
	case "/quit":
		return command{verb: verbQuit}, nil
	case "/help":
		return command{verb: verbHelp}, nil
	}
	return command{}, fmt.Errorf("%s is not a command; /help lists the commands", word)
}

func say(m client.Message, text string) (command, error) {
	if text == "" {
		return command{}, nil
	}
	m.OpCode = opChat
	return send(m, text)
}

func send(m client.Message, text string) (command, error) {
	if len(text) > client.PayloadMax {
		return command{}, client.ErrTooLarge
	}
	m.Payload = []byte(text)
	return command{verb: verbSay, message: m}, nil
}

// textMax bounds how many bytes of a payload a line shows.
const textMax = 200

// visible makes a payload safe for a terminal. It quotes unprintable payloads and truncates long ones.
func visible(payload []byte) string {
	cut := ""
	if len(payload) > textMax {
		cut = fmt.Sprintf("... (%d bytes)", len(payload))
		payload = payload[:textMax]
		for len(payload) > 0 && !utf8.Valid(payload) && len(payload) > textMax-utf8.UTFMax {
			payload = payload[:len(payload)-1]
		}
	}
	text := string(payload)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	return text + cut
}
