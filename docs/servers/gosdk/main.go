// Command gosdk is a dedicated server that uses Amazon's Server SDK for Go. Players chat over TCP: the first line of each
// is the player session id, every other line goes to all players, and an empty line leaves. /who tells who has a player
// session, /fill asks for more players, and /close lets no more in.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model/request"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"
)

type game struct {
	mu      sync.Mutex
	session model.GameSession
	players map[net.Conn]bool
	here    int  // players, and those whose player sessions are being accepted
	played  bool // there was a player
	end     func()
}

// tell sends a line to one player.
func tell(to net.Conn, words ...any) {
	_ = to.SetWriteDeadline(time.Now().Add(time.Second))
	fmt.Fprintln(to, words...)
}

// say sends a line to all players.
func (g *game) say(words ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for to := range g.players {
		tell(to, words...)
	}
}

// start is called when the game session begins.
func (g *game) start(session model.GameSession) {
	g.mu.Lock()
	g.session = session // load the map here
	g.mu.Unlock()
	log.Println("active:", server.ActivateGameSession())
}

// update is called when a backfill has found players.
func (g *game) update(u model.UpdateGameSession) {
	g.mu.Lock()
	g.session.MatchmakerData = u.GameSession.MatchmakerData
	g.mu.Unlock()
	g.say("update", u.UpdateReason, u.BackfillTicketID)
}

// who returns the players that have a player session.
func (g *game) who() (text string) {
	q := request.NewDescribePlayerSessions()
	q.GameSessionID, _ = server.GetGameSessionID() // there are players, so there is a game session
	r, err := server.DescribePlayerSessions(q)
	if err != nil {
		return err.Error()
	}
	for _, p := range r.PlayerSessions {
		text += fmt.Sprint(p.PlayerID, " ", p.Status, ", ")
	}
	return text
}

// fill asks for players for the free seats, and returns the ticket.
func (g *game) fill() string {
	g.mu.Lock()
	var match model.MatchmakerData
	err := json.Unmarshal([]byte(g.session.MatchmakerData), &match)
	q := request.NewStartMatchBackfill(g.session.GameSessionID, match.MatchmakingConfigurationArn, match.Players)
	g.mu.Unlock()
	if err != nil {
		return err.Error()
	}
	r, err := server.StartMatchBackfill(q)
	return fmt.Sprint(r.TicketID, " ", err)
}

// play runs the game for one player.
func (g *game) play(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Scan()
	id := lines.Text()
	g.change(func() { g.here++ })
	defer g.change(func() { g.here-- })
	if err := server.AcceptPlayerSession(id); err != nil {
		tell(conn, err)
		return
	}
	g.change(func() { g.players[conn], g.played = true, true })
	defer g.change(func() { delete(g.players, conn) })
	g.say(id, "joined")
	for lines.Scan() && lines.Text() != "" {
		switch line := lines.Text(); line {
		case "/who":
			tell(conn, g.who())
		case "/fill":
			tell(conn, "ticket", g.fill())
		case "/close":
			tell(conn, "closed", server.UpdatePlayerSessionCreationPolicy(model.DenyAll))
		default:
			g.say(id, line)
		}
	}
	log.Println(id, "left:", server.RemovePlayerSession(id))
}

// change changes who is here. The game is over when the last player has left.
func (g *game) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f(); g.here == 0 && g.played {
		g.end()
	}
}

func main() {
	port := cmp.Or(os.Getenv("PORT"), "7777") // Troupe sets it if it starts this server
	over := make(chan struct{})
	g := &game{players: map[net.Conn]bool{}, end: sync.OnceFunc(func() { close(over) })}
	players, err := net.Listen("tcp", ":"+port)
	number, wrong := strconv.Atoi(port)
	if err = cmp.Or(err, wrong); err == nil {
		err = server.InitSDK(server.ServerParameters{}) // the variables GAMELIFT_SDK_... say where to
	}
	if err == nil {
		err = server.ProcessReady(server.ProcessParameters{
			Port:               number,
			OnStartGameSession: g.start, OnUpdateGameSession: g.update, OnProcessTerminate: g.end, OnHealthCheck: func() bool { return true },
		})
	}
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for conn, err := players.Accept(); err == nil; conn, err = players.Accept() {
			go g.play(conn)
		}
	}()
	<-over
	log.Println("over:", server.ProcessEnding(), server.Destroy())
}
