package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/bench/faults/cgroup"
	"troupe/transport/client"
)

const (
	// memoryMin is the smallest memory limit of a host in MiB. It is enough to start and to run some games.
	memoryMin = 48
	memoryMax = 1 << 20
	// crowdFleet is the fleet of the games that send to disconnected players. crowdRoom is the room number of the first
	// such game.
	crowdFleet = "fleet-crowd"
	crowdRoom  = 2000
	crowdGames = 5
	crowdSize  = 30 // disconnected players per game; messages retained for them may total 150 MiB
	crowdBytes = client.PayloadMax
	opCrowd    = 1
)

// tight is a control group that limits the host's memory.
type tight struct {
	*cgroup.Group
	mib int
}

// newTight returns a control group with the smallest limit of all memory faults, or nil if there is no such fault.
func newTight(events []Event) (*tight, error) {
	least := 0
	for _, e := range events {
		if e.Fault == Memory && (least == 0 || e.MiB < least) {
			least = e.MiB
		}
	}
	if least == 0 {
		return nil, nil
	}
	group, err := cgroup.New(int64(least) << 20)
	if err != nil {
		return nil, err
	}
	return &tight{group, least}, nil
}

// crowd creates games. In each game, all players except one sender lose their connections. Until end is called, the
// senders send to the disconnected players as fast as the host accepts messages. The host retains what it can.
func (r *run) crowd(ctx context.Context) (end func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	var mu sync.Mutex
	end = func() error {
		cancel()
		work.Wait()
		if err != nil && r.awaitDeath() {
			return nil // judgeMemory reports the reason
		}
		return err
	}
	for game := range crowdGames {
		work.Go(func() {
			if failed := r.crowdGame(ctx, crowdRoom+game); failed != nil && ctx.Err() == nil {
				mu.Lock()
				err = errors.Join(err, failed)
				mu.Unlock()
			}
		})
	}
	return end, nil
}

func (r *run) crowdGame(ctx context.Context, number int) error {
	room, err := r.proc.OpenIn(ctx, crowdFleet, number, crowdSize+1)
	if err != nil {
		return err
	}
	var lost []int32
	var sender *client.Client
	for _, id := range room.IDs {
		c, err := client.Dial(ctx, client.Options{Addr: room.Addr, PlayerSessionID: id, Transport: client.WS, DialTimeout: dialMax})
		if err != nil {
			return fmt.Errorf("log in to a crowd: %w", err)
		}
		defer c.Abort()
		if sender == nil {
			sender = c
			continue
		}
		lost = append(lost, c.PeerID())
		c.Abort()
	}
	go func() {
		for range sender.Events() {
		}
	}()
	payload := make([]byte, crowdBytes)
	for n := 0; ; n++ {
		err := sender.Send(ctx, client.Message{OpCode: opCrowd, TargetPlayer: lost[n%len(lost)], Payload: payload, Intent: client.Reliable})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("send to a crowd: %w: %s", err, sender.End())
		}
	}
}

// alive reports whether the host's process is running.
func (r *run) alive() bool {
	select {
	case <-r.proc.Exited():
		return false
	default:
		return true
	}
}

// deathMax bounds the wait for the end of a killed process.
const deathMax = 2 * time.Second

// awaitDeath waits up to deathMax for the host's process to end and reports whether it has ended.
func (r *run) awaitDeath() bool {
	timer := time.NewTimer(deathMax)
	defer timer.Stop()
	select {
	case <-r.proc.Exited():
		return true
	case <-timer.C:
		return false
	}
}

// judgeMemory judges whether the host survived with its memory limit. alive reports whether the host is still running,
// so that it can be judged further.
func (r *run) judgeMemory() (all []Verdict, alive bool, err error) {
	if r.tight == nil {
		return nil, true, nil
	}
	kills, err := r.tight.Kills()
	if err != nil {
		return nil, false, fmt.Errorf("read the control group: %w", err)
	}
	alive = r.alive()
	peak := ""
	if n := r.tight.Peak(); n > 0 {
		peak = fmt.Sprintf(", %d MiB used at most", n>>20)
	}
	return []Verdict{judge("RL-120", fmt.Sprintf("a host that has %d MiB of memory goes on", r.tight.mib), alive && kills == 0,
		"%d processes killed by the kernel%s", kills, peak)}, alive, nil
}
