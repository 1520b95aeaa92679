package barerelay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Serve relays until ctx ends. It listens at addr and writes the address that it has got to the file announce, unless that
// is empty. With an interval it collects the messages of a room for that time.
func Serve(ctx context.Context, addr, announce string, interval time.Duration) error {
	return serve(ctx, addr, announce, newRelay(interval).serveConn)
}

func serve(ctx context.Context, addr, announce string, each func(net.Conn)) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if announce != "" {
		if err := Announce(announce, map[string]any{"ws": ln.Addr().String(), "stats": true}); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	context.AfterFunc(ctx, func() { _ = ln.Close() })
	return accept(ln, each)
}

const (
	requestTimeout  = 10 * time.Second
	readBufferBytes = 1 << 10 // several messages of the benchmarks
)

// accept accepts until the listener is closed. The relay parses requests itself instead of using http.Server, and brings its own
// small read buffer, so that the yardstick for memory is not a generous one. Resident KiB per idle connection at 9,600:
// http.Server and gws's 4 KiB buffer 12.3, own parsing 11.0, own parsing and 1 KiB buffer 8.0.
func accept(ln net.Listener, each func(net.Conn)) error {
	for {
		c, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go each(c)
	}
}

// serveConn answers /stats once, or upgrades whatever else is asked for. It leaves reading to a fresh goroutine, because
// this one's stack has grown.
func (r *relay) serveConn(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(requestTimeout))
	br := bufio.NewReaderSize(c, readBufferBytes)
	req, err := http.ReadRequest(br)
	if err != nil {
		_ = c.Close()
		return
	}
	if req.URL.Path == "/stats" {
		_ = writeStats(c, r.totals())
		_ = c.Close()
		return
	}
	socket, err := r.upgrader.UpgradeFromConn(c, br, req) // lifts the deadline; answers and closes when it fails
	if err != nil {
		return
	}
	go socket.ReadLoop()
}

// Announce writes the announce file of a server, with its address "ws", as JSON, complete or not at all.
func Announce(path string, what map[string]any) error {
	b, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode announce file: %w", err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write announce file: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("publish announce file: %w", err)
	}
	return nil
}
