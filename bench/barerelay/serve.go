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

// Serve relays until ctx ends. It listens at addr. If announce is not empty, Serve writes the actual address to that
// file. If interval is not 0, the messages of a room are collected for that time.
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
	readBufferBytes = 1 << 10 // holds several benchmark messages
)

// accept accepts connections until the listener is closed. The relay parses requests itself instead of using
// http.Server, and uses a small read buffer, so that the baseline for memory is low. Resident memory per idle
// connection, measured with 9,600 connections: 12.3 KiB with http.Server and the 4 KiB buffer of gws, 11.0 KiB with our
// own parsing, 8.0 KiB with our own parsing and a 1 KiB buffer.
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

// serveConn answers a request for /stats and upgrades any other request. It reads in a new goroutine, because the stack
// of this goroutine has grown.
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
	socket, err := r.upgrader.UpgradeFromConn(c, br, req) // clears the deadline; on failure it answers and closes
	if err != nil {
		return
	}
	go socket.ReadLoop()
}

// Announce writes the announce file of a server as JSON. The key "ws" holds its address. The write is atomic.
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
