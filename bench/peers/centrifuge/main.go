// Centrifuge is a minimal room server on github.com/centrifugal/centrifuge. It sends each message of a member to all
// members of its room.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/centrifugal/centrifuge"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "")
	announce := flag.String("announce", "", "")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := serve(ctx, *addr, *announce); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, addr, announce string) error {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return err
	}
	node.OnConnecting(func(_ context.Context, e centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{
			Credentials:   &centrifuge.Credentials{},
			Subscriptions: map[string]centrifuge.SubscribeOptions{string(e.Data): {}},
		}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		room := client.Channels()[0]
		client.OnMessage(func(e centrifuge.MessageEvent) {
			_, _ = node.Publish(room, e.Data)
		})
	})
	if err := node.Run(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		CheckOrigin: func(*http.Request) bool { return true },
	}))
	mux.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = json.NewEncoder(w).Encode(map[string]any{"mallocs": m.Mallocs, "goroutines": runtime.NumGoroutine()})
	})
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := tell(announce, ln.Addr().String()); err != nil {
		return err
	}
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// tell writes the announce file atomically.
func tell(file, ws string) error {
	version := "centrifuge unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/centrifugal/centrifuge" {
				version = "centrifuge " + d.Version
			}
		}
	}
	text, err := json.Marshal(map[string]any{"ws": ws, "protocol": "centrifuge", "stats": true, "version": version + ", " + runtime.Version()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}
