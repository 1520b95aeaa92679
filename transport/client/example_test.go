package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"troupe/transport/client"
)

// Two players meet in a game session, and one says hello to all.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	game, err := startGame(ctx, nil) // a host, and a game session made by CreateGameSession
	if err != nil {
		log.Fatal(err)
	}
	defer game.host.Close()

	var players []*client.Client
	for _, name := range []string{"ann", "bob"} {
		id, err := game.seat(ctx, name) // CreatePlayerSession
		if err != nil {
			log.Fatal(err)
		}
		c, err := client.Dial(ctx, client.Options{Addr: game.host.Addrs().WS, PlayerSessionID: id})
		if err != nil {
			log.Fatal(err)
		}
		defer c.Close()
		players = append(players, c)
	}

	hello := client.Message{OpCode: 1, TargetGroup: client.AllPlayers, Payload: []byte("hello"), Reliable: true}
	if err := players[0].Send(ctx, hello); err != nil {
		log.Fatal(err)
	}
	e := <-players[1].Events()
	fmt.Printf("peer %d hears from peer %d: %s\n", players[1].PeerID(), e.Sender, e.Payload)
	// Output: peer 2 hears from peer 1: hello
}
