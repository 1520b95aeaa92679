// Nano is a minimal room server on github.com/lonng/nano. It sends each message of a member to all members of its room.
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

// Bytes is a message of a client. nano passes the raw payload to handlers without copying it and meanwhile reads the
// next payload into the same buffer. Bytes is therefore a copy, made when the message is decoded.
type Bytes struct{ b []byte }

// passing is a serializer that passes bytes through unchanged.
type passing struct{}

func (passing) Marshal(v any) ([]byte, error) { return nil, fmt.Errorf("%T is not bytes", v) }

func (passing) Unmarshal(data []byte, v any) error {
	v.(*Bytes).b = append([]byte(nil), data...)
	return nil
}

// Room contains the handlers. nano calls them sequentially in one goroutine.
type Room struct {
	component.Base
	rooms map[string]*nano.Group
}

// AfterInit makes members leave their room when their session closes.
func (r *Room) AfterInit() {
	session.Lifetime.OnClosed(func(s *session.Session) {
		if g, ok := s.Value("room").(*nano.Group); ok {
			_ = g.Leave(s)
		}
	})
}

// Join adds a session to a room.
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
	// nano does not report its port, so find a free one first.
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

// tell writes the announce file atomically.
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
