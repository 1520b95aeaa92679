// Nano is a thin room server on github.com/lonng/nano: what a member says goes to all members of its room.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/lonng/nano"
	"github.com/lonng/nano/component"
	"github.com/lonng/nano/session"
)

// Bytes is what clients send: nano hands raw payloads to handlers without a copy, and reads the next ones into the same
// buffer meanwhile, so the bytes are copied when they are decoded.
type Bytes struct{ b []byte }

// passing is a serializer that leaves bytes as they are.
type passing struct{}

func (passing) Marshal(v any) ([]byte, error) { return nil, fmt.Errorf("%T is not bytes", v) }

func (passing) Unmarshal(data []byte, v any) error {
	v.(*Bytes).b = append([]byte(nil), data...)
	return nil
}

// Room has the handlers. nano calls them one at a time, all in one goroutine.
type Room struct {
	component.Base
	rooms map[string]*nano.Group
}

// AfterInit lets members that are gone leave.
func (r *Room) AfterInit() {
	session.Lifetime.OnClosed(func(s *session.Session) {
		if g, ok := s.Value("room").(*nano.Group); ok {
			_ = g.Leave(s)
		}
	})
}

// Join puts a session into a room.
func (r *Room) Join(s *session.Session, name *Bytes) error {
	g := r.rooms[string(name.b)]
	if g == nil {
		g = nano.NewGroup(string(name.b))
		r.rooms[string(name.b)] = g
	}
	s.Set("room", g)
	if err := s.Push("j", []byte{1}); err != nil {
		return err
	}
	return g.Add(s)
}

// Say sends a message to the whole room.
func (r *Room) Say(s *session.Session, message *Bytes) error {
	g, ok := s.Value("room").(*nano.Group)
	if !ok {
		return nil
	}
	return g.Broadcast("m", message.b)
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "")
	announce := flag.String("announce", "", "")
	flag.Parse()
	if err := serve(*addr, *announce); err != nil {
		log.Fatal(err)
	}
}

func serve(addr, announce string) error {
	// nano does not tell which port it has got, so a free one is looked for.
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	addr = ln.Addr().String()
	if err := ln.Close(); err != nil {
		return err
	}
	http.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = json.NewEncoder(w).Encode(map[string]any{"mallocs": m.Mallocs, "goroutines": runtime.NumGoroutine()})
	})
	go func() {
		for {
			if c, err := net.Dial("tcp", addr); err == nil {
				_ = c.Close()
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := tell(announce, addr); err != nil {
			log.Fatal(err)
		}
	}()
	components := &component.Components{}
	components.Register(&Room{rooms: make(map[string]*nano.Group)})
	nano.Listen(addr, nano.WithIsWebsocket(true), nano.WithWSPath("/nano"), nano.WithComponents(components), nano.WithSerializer(passing{}),
		nano.WithCheckOriginFunc(func(*http.Request) bool { return true }))
	return nil
}

// tell writes the announce file, complete or not at all.
func tell(file, ws string) error {
	version := "nano unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/lonng/nano" {
				version = "nano " + d.Version
			}
		}
	}
	text, err := json.Marshal(map[string]any{"ws": ws, "protocol": "nano", "stats": true, "version": version + ", " + runtime.Version()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}
