package barerelay

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lxzan/gws"

	"troupe/bench/loadgen"
)

// fastPort is the UDP port announced in LOGIN_RESPONSE. Nothing listens there, and the load generator never uses it.
const fastPort = 1

// relay is the server. It holds the rooms by number.
type relay struct {
	gws.BuiltinEventHandler
	upgrader *gws.Upgrader
	interval time.Duration // messages of a room are collected for this long; 0 disables collecting

	mu    sync.Mutex // guards rooms
	rooms map[int]*room
}

// room holds the members and their message counters. The mutex is held while writing, so that every member receives the
// messages in the same order.
type room struct {
	counts
	members  []net.Conn    // guarded by mu, as are the fields below
	gathered []byte        // collected frames, sent to every member
	flush    *time.Timer   // nil if messages are not collected
	interval time.Duration // delay of the flush timer
}

// member is the state of one connection, owned by its reader goroutine. It is stored as the gws session, which saves a
// map lookup per message. The embedded interface is always nil.
type member struct {
	gws.SessionStorage
	room  *room
	frame []byte // scratch buffer, reused for every message that this member sends
}

func newRelay(interval time.Duration) *relay {
	r := &relay{interval: interval, rooms: make(map[int]*room)}
	r.upgrader = gws.NewUpgrader(r, &gws.ServerOption{
		NewSession: func() gws.SessionStorage { return new(member) },
	})
	return r
}

// OnPing implements gws.Event.
func (r *relay) OnPing(socket *gws.Conn, payload []byte) { _ = socket.WritePong(payload) }

// OnMessage implements gws.Event. The first message is the login; all others are relayed.
func (r *relay) OnMessage(socket *gws.Conn, msg *gws.Message) {
	defer msg.Close()
	m, ok := socket.Session().(*member)
	if !ok {
		return
	}
	if m.room == nil {
		if err := r.login(socket, m, msg.Bytes()); err != nil {
			socket.WriteClose(1008, []byte(err.Error()))
		}
		return
	}
	m.frame = appendFrame(m.frame[:0], msg.Bytes())
	m.room.broadcast(m.frame)
}

// OnClose implements gws.Event.
func (r *relay) OnClose(socket *gws.Conn, _ error) {
	if m, ok := socket.Session().(*member); ok && m.room != nil {
		m.room.remove(socket.NetConn())
	}
}

// login answers LOGIN and adds the connection to the room named in its player session id.
func (r *relay) login(socket *gws.Conn, m *member, unit []byte) error {
	number, index, err := readLogin(unit)
	if err != nil {
		return err
	}
	m.room = r.room(number)
	m.room.join(socket.NetConn(), appendFrame(nil, loadgen.AppendLoginResponse(nil, int32(index)+1, fastPort)))
	return nil
}

func (r *relay) room(number int) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	rm := r.rooms[number]
	if rm == nil {
		rm = &room{interval: r.interval}
		if r.interval > 0 {
			rm.flush = time.AfterFunc(r.interval, rm.write)
		}
		r.rooms[number] = rm
	}
	return rm
}

// broadcast writes one frame to every member. It ignores write errors, because the reader of that connection will see
// the error too.
func (rm *room) broadcast(frame []byte) {
	rm.mu.Lock()
	rm.inbound++
	rm.delivered += uint64(len(rm.members))
	if rm.flush == nil {
		rm.writeAll(frame)
	} else {
		if len(rm.gathered) == 0 {
			rm.flush.Reset(rm.interval)
		}
		rm.gathered = append(rm.gathered, frame...)
	}
	rm.mu.Unlock()
}

// writeAll writes frames to every member. The caller holds mu.
func (rm *room) writeAll(frames []byte) {
	for _, c := range rm.members {
		_, _ = c.Write(frames)
	}
}

// write flushes the collected frames. The flush timer calls it.
func (rm *room) write() {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	rm.writeGathered()
}

// writeGathered flushes the collected frames. The caller holds mu.
func (rm *room) writeGathered() {
	if len(rm.gathered) > 0 {
		rm.writeAll(rm.gathered)
		rm.gathered = rm.gathered[:0]
	}
}

// join writes the welcome before it adds the member, so that no other message arrives first.
func (rm *room) join(c net.Conn, welcome []byte) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	rm.writeGathered() // the new member must not receive older messages
	_, _ = c.Write(welcome)
	rm.members = append(rm.members, c)
}

func (rm *room) remove(c net.Conn) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	for i, other := range rm.members {
		if other == c {
			rm.members = append(rm.members[:i], rm.members[i+1:]...)
			return
		}
	}
}

// readLogin returns the room number and the player index of a LOGIN.
func readLogin(unit []byte) (number, index int, err error) {
	p, err := loadgen.ParseUnit(unit)
	if err != nil {
		return 0, 0, err
	}
	id, err := loadgen.PlayerSessionID(p.Login)
	if err != nil {
		return 0, 0, err
	}
	return parseID(id)
}

// parseID parses room-<r>-<i>.
func parseID(id string) (number, index int, err error) {
	rest, ok := strings.CutPrefix(id, "room-")
	a, b, cut := strings.Cut(rest, "-")
	if !ok || !cut {
		return 0, 0, fmt.Errorf("player session id %q is not room-<r>-<i>", id)
	}
	if number, err = strconv.Atoi(a); err != nil {
		return 0, 0, fmt.Errorf("room number: %w", err)
	}
	if index, err = strconv.Atoi(b); err != nil {
		return 0, 0, fmt.Errorf("player index: %w", err)
	}
	return number, index, nil
}

// appendFrame appends unit as an unmasked binary frame.
func appendFrame(dst, unit []byte) []byte {
	const finBinary = 0x82
	switch n := len(unit); {
	case n < 126:
		dst = append(dst, finBinary, byte(n))
	case n < 1<<16:
		dst = append(dst, finBinary, 126, byte(n>>8), byte(n))
	default: // gws rejects messages above its own limit of 16 MiB
		dst = append(dst, finBinary, 127, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(dst, unit...)
}
