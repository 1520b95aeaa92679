// Command example is a dedicated server that speaks the protocol of the GameLift Server SDK itself. Players chat over TCP:
// the first line of each is the player session id, every other line goes to all players, and an empty line leaves.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/lxzan/gws"
)

type fields map[string]any // of a message

type server struct {
	gws.BuiltinEventHandler
	end     context.CancelFunc // ends the game
	conn    atomic.Pointer[gws.Conn]
	waiting sync.Map     // channels of requests, by RequestId
	session atomic.Value // id of the game session
	players sync.Map     // their connections
	playing atomic.Int32 // how many they are
}

// connect opens a connection to Troupe, which takes the place of the one before. The Server SDK reads the same variables.
func (s *server) connect() error {
	conn, _, err := gws.NewClient(s, &gws.ClientOption{Addr: os.ExpandEnv(
		"$GAMELIFT_SDK_WEBSOCKET_URL?Authorization=$GAMELIFT_SDK_AUTH_TOKEN&FleetId=$GAMELIFT_SDK_FLEET_ID&ComputeId=$GAMELIFT_SDK_HOST_ID&pID=$GAMELIFT_SDK_PROCESS_ID&sdkVersion=5.6.0&sdkLanguage=Go")})
	if err == nil {
		s.conn.Store(conn)
		go conn.ReadLoop()
	}
	return err
}

// call sends a request and waits for the response.
func (s *server) call(action string, request fields) error {
	id, response := uuid.NewString(), make(chan fields, 1)
	request["Action"], request["RequestId"] = action, id
	text, _ := json.Marshal(request) // plain values
	s.waiting.Store(id, response)
	for waits := 0; s.conn.Load().WriteMessage(gws.OpcodeText, text) != nil && waits < 60; waits++ {
		time.Sleep(time.Second) // until it is connected again
	}
	select {
	case r := <-response:
		if r["StatusCode"] != 200.0 {
			return fmt.Errorf("%s: %v %v", action, r["StatusCode"], r["ErrorMessage"])
		}
		return nil
	case <-time.After(20 * time.Second):
		return fmt.Errorf("%s: no response", action)
	}
}

// OnMessage takes a response, or what Troupe says without being asked.
func (s *server) OnMessage(_ *gws.Conn, frame *gws.Message) {
	var m fields
	_ = json.Unmarshal(frame.Bytes(), &m)
	if response, ok := s.waiting.LoadAndDelete(m["RequestId"]); ok {
		response.(chan fields) <- m
	}
	switch m["Action"] {
	case "CreateGameSession": // load the map here
		s.session.Store(m["GameSessionId"])
		go func() {
			log.Println("active:", s.call("ActivateGameSession", fields{"GameSessionId": s.session.Load()}))
		}()
	case "RefreshConnection": // the token will expire
		os.Setenv("GAMELIFT_SDK_WEBSOCKET_URL", fmt.Sprint(m["RefreshConnectionEndpoint"]))
		os.Setenv("GAMELIFT_SDK_AUTH_TOKEN", fmt.Sprint(m["AuthToken"]))
		go func() { log.Println("refreshed:", s.connect()) }()
	case "TerminateProcess":
		s.end()
	}
}

// OnPing answers the pings with which Troupe watches the connection.
func (s *server) OnPing(conn *gws.Conn, payload []byte) { _ = conn.WritePong(payload) }

// OnClose connects again as the same process: Troupe knows it, and the game session goes on.
func (s *server) OnClose(lost *gws.Conn, err error) {
	for current := s.conn.Load() == lost; current && err != nil; err = s.connect() {
		time.Sleep(4 * time.Second)
	}
}

// play runs the game for one player. The game is over when the last one leaves.
func (s *server) play(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Scan()
	id := lines.Text()
	if err := s.call("AcceptPlayerSession", fields{"GameSessionId": s.session.Load(), "PlayerSessionId": id}); err != nil {
		fmt.Fprintln(conn, err)
		return
	}
	s.playing.Add(1)
	for line := "joined"; line != ""; line = lines.Text() {
		s.players.Store(conn, true)
		s.players.Range(func(to, _ any) bool {
			_ = to.(net.Conn).SetWriteDeadline(time.Now().Add(time.Second))
			fmt.Fprintln(to.(net.Conn), id, line)
			return true
		})
		lines.Scan() // Text is empty at the end
	}
	log.Println(id, "left:", s.call("RemovePlayerSession", fields{"GameSessionId": s.session.Load(), "PlayerSessionId": id}))
	s.players.Delete(conn)
	if s.playing.Add(-1) == 0 {
		s.end()
	}
}

func main() {
	port := cmp.Or(os.Getenv("PORT"), "7777") // Troupe sets both if it starts this server
	os.Setenv("GAMELIFT_SDK_PROCESS_ID", cmp.Or(os.Getenv("GAMELIFT_SDK_PROCESS_ID"), uuid.NewString()))
	over, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s := &server{end: end}
	players, err := net.Listen("tcp", ":"+port)
	if err = cmp.Or(err, s.connect()); err == nil {
		err = s.call("ActivateServerProcess", fields{"Port": json.Number(port), "LogPaths": []string{}})
	}
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for ; ; time.Sleep(time.Minute) {
			log.Println("healthy:", s.call("HeartbeatServerProcess", fields{"HealthStatus": true}))
		}
	}()
	context.AfterFunc(over, func() { _ = players.Close() })
	for conn, err := players.Accept(); err == nil; conn, err = players.Accept() {
		go s.play(conn)
	}
	log.Println("over:", s.call("TerminateServerProcess", fields{}))
}
