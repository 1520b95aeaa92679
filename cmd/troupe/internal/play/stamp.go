package play

import (
	"bytes"
	"encoding/binary"
	"time"

	"troupe/transport/client"
)

// opBot is the op code of the bots' messages.
const opBot = 2

// channel is the channel that a bot has requested for a message. While the fast channel is not up, messages for it use
// the reliable channel.
type channel uint8

const (
	reliable channel = iota
	fast
	channels // the number of channels
)

var (
	channelNames = [channels]string{"reliable", "fast"}
	intents      = [channels]client.Intent{client.Reliable, client.Fast}
)

// stamp identifies a bot's message in its payload. The layout, big endian:
//
//	magic(4) run(8) bot(2) channel(1) number(8) intended(8) padding
type stamp struct {
	run      uint64 // random number of the run; messages of other runs are ignored
	bot      uint16
	channel  channel
	number   uint64        // counts from 1, per bot and channel
	intended time.Duration // scheduled send time since the start of the run
}

const stampBytes = 4 + 8 + 2 + 1 + 8 + 8

var stampMagic = []byte("trp1")

// appendTo appends the stamp, and pads it to size bytes.
func (s stamp) appendTo(dst []byte, size int) []byte {
	at := len(dst)
	dst = append(dst, stampMagic...)
	dst = binary.BigEndian.AppendUint64(dst, s.run)
	dst = binary.BigEndian.AppendUint16(dst, s.bot)
	dst = append(dst, byte(s.channel))
	dst = binary.BigEndian.AppendUint64(dst, s.number)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.intended))
	if missing := size - (len(dst) - at); missing > 0 {
		dst = append(dst, make([]byte, missing)...)
	}
	return dst
}

func parseStamp(b []byte) (s stamp, ok bool) {
	if len(b) < stampBytes || !bytes.Equal(b[:4], stampMagic) || b[14] >= byte(channels) {
		return stamp{}, false
	}
	return stamp{
		run: binary.BigEndian.Uint64(b[4:]), bot: binary.BigEndian.Uint16(b[12:]), channel: channel(b[14]),
		number: binary.BigEndian.Uint64(b[15:]), intended: time.Duration(binary.BigEndian.Uint64(b[23:])),
	}, true
}
