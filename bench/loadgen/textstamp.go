package loadgen

import (
	"bytes"
	"time"
)

// A text stamp is the send time for scripts, which may read a message as text and put it into an answer of any form. It is a mark and 12
// hexadecimal digits: microseconds on the swarm's clock, and the number of the sender in its room. It has no characters
// that JSON, UTF-8 or a URL would change.
const (
	stampMark      = "~at~"
	stampDigits    = 12
	textStampBytes = len(stampMark) + stampDigits
	senderBits     = 8 // players of a room above 256 share numbers
	hexDigits      = "0123456789abcdef"
)

// Placeholder is what Config.Message has where a text stamp is to be.
const Placeholder = "{{stamp}}"

var (
	mark       = []byte(stampMark)
	emptyStamp = append([]byte(stampMark), bytes.Repeat([]byte{'0'}, stampDigits)...)
)

// MessageBytes is how long a Config.Message is when it is sent.
func MessageBytes(message string) int { return len(expanded([]byte(message), 0)) }

// expanded is a message with empty stamps in place of its placeholders. Without a message it is a stamp and dots.
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

// putDigits writes a value over the digits of a stamp.
func putDigits(b []byte, value uint64) {
	for i := range b {
		b[len(b)-1-i] = hexDigits[value&0xf]
		value >>= 4
	}
}

// digits reads them back; ok is false if there are others.
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

// nextStamp finds the first stamp in an answer, and returns the rest of the answer. It does not allocate.
func nextStamp(answer []byte) (value uint64, rest []byte, ok bool) {
	for {
		at := bytes.Index(answer, mark)
		if at < 0 || len(answer)-at < textStampBytes {
			return 0, nil, false
		}
		if value, ok = digits(answer[at+len(mark) : at+textStampBytes]); ok {
			return value, answer[at+textStampBytes:], true
		}
		answer = answer[at+1:] // a mark may begin inside what looks like one
	}
}

// seen is the newest stamp of each player of the room that a player has seen, in nanoseconds. The reader owns it.
type seen [1 << senderBits]int64

// take returns the next send time in an answer that gives a latency, and the rest of the answer. Only the first answer with a send time
// gives one: a state that repeats the last message of each player would show latencies that grow. Messages of one player arrive in
// order, those of several need not.
func (s *seen) take(answer []byte, now int64) (nanos int64, rest []byte, ok bool) {
	for {
		value, rest, ok := nextStamp(answer)
		if !ok {
			return 0, nil, false
		}
		answer = rest
		nanos, newest := int64(value>>senderBits)*int64(time.Microsecond), &s[value&(1<<senderBits-1)]
		if nanos > *newest && nanos <= now { // what is later is not of this swarm
			*newest = nanos
			return nanos, rest, true
		}
	}
}
