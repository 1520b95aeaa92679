package kcp

import (
	"encoding/binary"
	"testing"

	kcpgo "github.com/xtaci/kcp-go/v5"
)

// splitRecords splits fuzzed bytes into records. Each has a length of two bytes and that many bytes.
func splitRecords(b []byte) (records [][]byte) {
	for len(b) >= 2 {
		n := min(int(binary.BigEndian.Uint16(b)%2049), len(b)-2)
		records = append(records, b[2:2+n])
		b = b[2+n:]
	}
	return records
}

func joinRecords(records ...[]byte) (b []byte) {
	for _, r := range records {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(r))), r...)
	}
	return b
}

// FuzzOnRecord passes records of a hostile peer to an open connection. It must not panic, and its memory must stay within its limits.
func FuzzOnRecord(f *testing.F) {
	ack := forged{cmd: kcpgo.IKCP_CMD_ACK, number: 1, una: 1}
	f.Add(joinRecords(dataFrame(forged{data: []byte("one")}), dataFrame(forged{number: 1, data: []byte("two")}, ack)))
	f.Add(joinRecords(dataFrame(forged{number: 5, frg: 3, data: []byte("three")}), dataFrame(forged{frg: 200, data: []byte("x")})))
	f.Add(joinRecords(dataFrame(forged{cmd: kcpgo.IKCP_CMD_WINS, window: -1}), dataFrame(ack), dataFrame(forged{cmd: kcpgo.IKCP_CMD_WASK})))
	f.Add(joinRecords([]byte{byte(framePing), 1}, []byte{byte(framePong), 2}, append([]byte{byte(frameFast)}, fastUnit(3)...)))
	f.Add(joinRecords(appendBye(nil, 1000, "leave"), []byte{byte(frameByeAck)}))
	f.Add(joinRecords(dataFrame(forged{data: make([]byte, 1600)}), []byte{9}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		x := newBench(t)
		x.conn.OpenFast(func([]byte) {})
		for i, r := range splitRecords(b) {
			if i > 500 {
				break
			}
			if i%16 == 0 {
				x.source.left = 1
				x.conn.Flush()
			}
			x.host.OnRecord(r)
			x.down.waiting = x.down.waiting[:0]
			x.host.lock()
			if n := x.host.kcp.WaitSnd(); n > windowSegments+1 {
				t.Errorf("%d segments wait to be sent", n)
			}
			if n := len(x.host.handover.pong); n > controlMax {
				t.Errorf("a pong of %d bytes is kept", n)
			}
			if x.host.kcp.PeekSize() > 2*MessageMax {
				t.Errorf("a message of %d bytes", x.host.kcp.PeekSize())
			}
			x.host.leave()
		}
	})
}

// FuzzSegments checks that KCP processes everything that passes checkSegments completely and without a panic.
func FuzzSegments(f *testing.F) {
	f.Add(dataFrame(forged{data: []byte("one")}, forged{cmd: kcpgo.IKCP_CMD_ACK, una: 3})[1:])
	f.Add(dataFrame(forged{data: make([]byte, 1501)})[1:])
	f.Add(dataFrame(forged{data: []byte("lies"), length: 1 << 31})[1:])
	f.Add(dataFrame(forged{cmd: kcpgo.IKCP_CMD_WASK}, forged{cmd: kcpgo.IKCP_CMD_WINS, window: -1})[1:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2048 || checkSegments(b) != 0 {
			return
		}
		k := kcpgo.NewKCP(conversation, func([]byte, int) {})
		k.NoDelay(1, 10, 2, 1)
		k.SetMtu(packetMax)
		k.WndSize(windowSegments, windowSegments)
		k.Send([]byte("in flight"))
		flushKCP(k, kcpgo.IKCP_FLUSH_FULL)
		if n := k.Input(b, kcpgo.IKCP_PACKET_REGULAR, false); n != 0 {
			t.Errorf("KCP refuses what the check lets pass: %d", n)
		}
		buf := make([]byte, MessageMax)
		for k.PeekSize() >= 0 {
			if n := k.Recv(buf); n < 0 {
				t.Errorf("Recv: %d", n)
				break
			}
		}
		var next uint32
		note(b, &next, windowSegments)
	})
}
