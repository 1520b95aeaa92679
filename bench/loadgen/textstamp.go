package loadgen

import (
	"bytes"
	"time"
)

// A text stamp is a send time for scripts. A script may read a message as text and copy the stamp into an answer of any
// form. The stamp is a mark and 12 hexadecimal digits, which encode the time in microseconds on the swarm's clock and
// the number of the sender in its room. It contains no characters that JSON, UTF-8 or a URL would change.
const (
	stampMark      = "~at~"
	stampDigits    = 12
	textStampBytes = len(stampMark) + stampDigits
	senderBits     = 8 // in a room of more than 256 players, several players share a number
	hexDigits      = "0123456789abcdef"
)

// Placeholder is replaced by a text stamp in Config.Message.
const Placeholder = "{{stamp}}"

var (
	mark       = []byte(stampMark)
	emptyStamp = append([]byte(stampMark), bytes.Repeat([]byte{'0'}, stampDigits)...)
)

// MessageBytes returns the length of a Config.Message when it is sent.
func MessageBytes(message string) int { return len(expanded([]byte(message), 0)) }

// expanded returns a message whose placeholders are replaced by empty stamps. If message is nil, the result is one
// stamp, padded with dots to size.
func expanded(message []byte, size int) []byte {
	if message == nil {
		payload := bytes.Repeat([]byte{'.'}, size)
		copy(payload, emptyStamp)
		return payload
	}
	return bytes.ReplaceAll(message, []byte(Placeholder), emptyStamp)
}

func stampValue(nanos int64, sender int) uint64 {
	return uint64(nanos/int64(time.Microsecond))<<senderBits | uint64(sender)&(1<<senderBits-1)
}

// putDigits writes value as the digits of a stamp.
func putDigits(b []byte, value uint64) {
	for i := range b {
		b[len(b)-1-i] = hexDigits[value&0xf]
		value >>= 4
	}
}

// digits parses the digits of a stamp. ok is false if b contains any other character.
func digits(b []byte) (value uint64, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			value = value<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			value = value<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return value, true
}

// nextStamp finds the first stamp in an answer. It returns the stamp's value and the rest of the answer. It does not
// allocate.
func nextStamp(answer []byte) (value uint64, rest []byte, ok bool) {
	for {
		at := bytes.Index(answer, mark)
		if at < 0 || len(answer)-at < textStampBytes {
			return 0, nil, false
		}
		if value, ok = digits(answer[at+len(mark) : at+textStampBytes]); ok {
			return value, answer[at+textStampBytes:], true
		}
		answer = answer[at+1:] // a mark may begin inside an invalid stamp
	}
}

// seen holds the newest stamp that a player has received from each player of its room, in nanoseconds. It is owned by
// the reader.
type seen [1 << senderBits]int64

// take returns the next send time in an answer that counts as a latency, and the rest of the answer. Only the first
// answer with a given send time counts. Otherwise, a script that repeats the last message of each player would show
// growing latencies. Messages of one player arrive in order; messages of different players may not.
func (s *seen) take(answer []byte, now int64) (nanos int64, rest []byte, ok bool) {
	for {
		value, rest, ok := nextStamp(answer)
		if !ok {
			return 0, nil, false
		}
		answer = rest
		nanos, newest := int64(value>>senderBits)*int64(time.Microsecond), &s[value&(1<<senderBits-1)]
		if nanos > *newest && nanos <= now { // a later time is not from this swarm
			*newest = nanos
			return nanos, rest, true
		}
	}
}
