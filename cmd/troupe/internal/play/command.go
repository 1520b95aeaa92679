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

// verb is what a line of the terminal asks for.
type verb uint8

const (
	verbSay verb = iota + 1
	verbJoin
	verbLeave
	verbMembers
	verbQuit
	verbHelp
	verbStats
)

// opChat is the op code of what people type.
const opChat = 1

// command is one line of the terminal.
type command struct {
	verb    verb
	group   int32          // join, leave, members
	message client.Message // say
}

const chatHelp = `text            say it to all players
/to PEER text   say it to one player
/fast text      say it to all by the fast channel, where it may be lost
/server text    send it to the game's own code
/join G         join group G
/leave G        leave group G
/members [G]    who is in group G; without G: all players
/stats          what was sent and received, and over what
/quit           leave the game session`

// parse reads one line; an empty one is no command.
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
	case "/fast":
		return say(client.Message{TargetGroup: client.AllPlayers, Intent: client.Fast}, rest)
	case "/join":
		return groupCommand(verbJoin, word, rest)
	case "/leave":
		return groupCommand(verbLeave, word, rest)
	case "/members":
		if rest == "" {
			return command{verb: verbMembers, group: client.AllPlayers}, nil
		}
		return groupCommand(verbMembers, word, rest)
	case "/quit":
		return command{verb: verbQuit}, nil
	case "/stats":
		return command{verb: verbStats}, nil
	case "/help":
		return command{verb: verbHelp}, nil
	}
	return command{}, fmt.Errorf("%s is no command; /help lists them", word)
}

func say(m client.Message, text string) (command, error) {
	if text == "" {
		return command{}, nil
	}
	if len(text) > client.PayloadMax {
		return command{}, client.ErrTooLarge
	}
	m.OpCode, m.Payload = opChat, []byte(text)
	return command{verb: verbSay, message: m}, nil
}

func groupCommand(v verb, word, arg string) (command, error) {
	g, err := strconv.ParseInt(arg, 10, 32)
	if err != nil || g == 0 || g < 0 && (v != verbMembers || g != int64(client.AllPlayers)) {
		return command{}, fmt.Errorf("%s needs a group, a positive number: %s 1", word, word)
	}
	return command{verb: v, group: int32(g)}, nil
}

// textMax bounds what one line shows of a payload.
const textMax = 200

// visible makes a payload safe for a terminal: what is not plain text is quoted,
// what is long is cut.
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
