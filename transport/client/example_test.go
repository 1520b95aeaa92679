package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"os"
	"time"

	"troupe/messages"
	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/memnet"
)

// inMemory starts a host on an in-memory network, and creates a game session with CreateGameSession.
func inMemory(ctx context.Context, change func(*host.Config)) *game {
	g, err := startGame(ctx, memnet.New(1).Machine(), "127.0.0.1:0", change)
	if err != nil {
		log.Fatal(err)
	}
	return g
}

// join reserves a seat with CreatePlayerSession and logs in.
func (g *game) join(ctx context.Context, player string, o client.Options) *client.Client {
	id, err := g.seat(ctx, player)
	if err != nil {
		log.Fatal(err)
	}
	o.PlayerSessionID, o.DialContext = id, g.net.Dial // a program that plays over the Internet leaves out DialContext
	c, err := client.Dial(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// Two players meet in a game session, and one sends a message to all.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	game := inMemory(ctx, nil)
	defer game.close()

	var players []*client.Client
	for _, name := range []string{"ann", "bob"} {
		c := game.join(ctx, name, client.Options{Addr: game.host.Addrs().WS})
		defer c.Close()
		players = append(players, c)
	}

	hello := client.Message{OpCode: 1, TargetGroup: client.AllPlayers, Payload: []byte("hello")}
	if err := players[0].Send(ctx, hello); err != nil {
		log.Fatal(err)
	}
	e := <-players[1].Events()
	fmt.Printf("peer %d hears from peer %d: %s\n", players[1].PeerID(), e.Sender, e.Payload)
	// Output: peer 2 hears from peer 1: hello
}

// A client asks to join a group. All members are then notified of the new membership.
func ExampleClient_JoinGroup() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	game := inMemory(ctx, nil)
	defer game.close()
	c := game.join(ctx, "ann", client.Options{Addr: game.host.Addrs().WS})
	defer c.Close()

	const team = 7
	if err := c.JoinGroup(ctx, team); err != nil {
		log.Fatal(err)
	}
	if err := c.Send(ctx, client.Message{OpCode: 1, TargetGroup: team, Payload: []byte("anybody here?")}); err != nil {
		log.Fatal(err)
	}
	for e := range c.Events() {
		switch e.Kind {
		case client.EventMembership:
			fmt.Println("members of group", e.Group, "are", e.Players)
		case client.EventMessage:
			fmt.Printf("peer %d to group %d: %s\n", e.Sender, e.TargetGroup, e.Payload)
			c.Close()
		}
	}
	// Output:
	// members of group 7 are [1]
	// peer 1 to group 7: anybody here?
}

// A client trusts the root certificates of a host with a private certificate authority.
func ExampleDial_secure() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "client")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	game := inMemory(ctx, secured(dir))
	defer game.close()

	c := game.join(ctx, "ann", client.Options{
		Addr:      game.host.Addrs().WSS,
		Transport: client.WSS,
		TLS:       &tls.Config{RootCAs: game.roots(), ServerName: "localhost"},
	})
	defer c.Close()
	fmt.Println("peer", c.PeerID(), "over", c.Transport())
	// Output: peer 1 over wss
}

// When the connection ends, End tells why, and whether the player may log in again.
func ExampleClient_End() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	game := inMemory(ctx, nil)
	defer game.close()
	id, err := game.seat(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	o := client.Options{Addr: game.host.Addrs().WS, PlayerSessionID: id, DialContext: game.net.Dial}
	c, err := client.Dial(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	elsewhere, err := client.Dial(ctx, o) // the same player, on another device
	if err != nil {
		log.Fatal(err)
	}
	defer elsewhere.Close()

	for range c.Events() {
	}
	end := c.End()
	fmt.Println(end)
	switch end.Retry() {
	case messages.RetryResume:
		fmt.Println("log in again, now")
	case messages.RetryLater:
		fmt.Println("log in again, but wait first")
	case messages.RetryNever:
		fmt.Println("it is over")
	}
	// Output:
	// closed by the host: 4001 taken_over
	// it is over
}

// The program is notified when its connection is lost and when it is resumed. Messages that it sends in between arrive.
func ExampleOptions_onReconnected() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	game := inMemory(ctx, nil)
	defer game.close()
	c := game.join(ctx, "ann", client.Options{
		Addr: game.host.Addrs().WS,
		OnReconnected: func(r client.Reconnected) {
			fmt.Println("back over", r.Transport, "as peer", r.PeerID)
		},
		OnGap: func(g client.Gap) {
			fmt.Println(g.Lost, "messages are lost: fetch the state of the game again")
		},
	})
	defer c.Close()

	c.Outage(100 * time.Millisecond) // as in a tunnel
	for e := range c.Events() {
		switch e.Kind {
		case client.EventDetached:
			err := c.Send(ctx, client.Message{OpCode: 1, TargetPlayer: c.PeerID(), Payload: []byte("still here")})
			fmt.Println("away; sent:", err == nil)
		case client.EventMessage:
			fmt.Printf("%s\n", e.Payload)
			c.Close()
		}
	}
	// Output:
	// away; sent: true
	// back over ws as peer 1
	// still here
}
