package faults

import (
	"encoding/binary"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// inLane sends packets of 100 bytes into a lane, one per millisecond. It returns the numbers of the packets that passed
// and their arrival times since the start.
func inLane(t *testing.T, seed uint64, c Conditions, packets int) (numbers []int, times []time.Duration) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		d := newDirection(seed, 0)
		d.begin(&c)
		began := time.Now()
		l := lane{d: d, send: func(b []byte) {
			numbers = append(numbers, int(binary.BigEndian.Uint32(b)))
			times = append(times, time.Since(began))
			clear(b) // send may change the bytes
		}}
		defer l.close()
		b := make([]byte, 100)
		for n := range packets {
			binary.BigEndian.PutUint32(b, uint32(n))
			l.take(b, len(b))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	})
	return numbers, times
}

// The same seed loses the same packets, another seed loses others, and the share of lost packets is that of the plan.
func TestLaneLoses(t *testing.T) {
	t.Parallel()
	const packets = 20_000
	one, _ := inLane(t, 1, Conditions{Loss: 0.05}, packets)
	again, _ := inLane(t, 1, Conditions{Loss: 0.05}, packets)
	other, _ := inLane(t, 2, Conditions{Loss: 0.05}, packets)
	if lost := packets - len(one); lost < packets*4/100 || lost > packets*6/100 {
		t.Errorf("%d of %d packets are lost", lost, packets)
	}
	if !slices.IsSorted(one) || !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("%d, %d, %d packets", len(one), len(again), len(other))
	}
}

// Delay alone preserves the order, even of packets that arrive at the same time. Jitter reorders packets.
func TestLaneDelays(t *testing.T) {
	t.Parallel()
	numbers, times := inLane(t, 1, Conditions{Delay: Duration(50 * time.Millisecond)}, 100)
	for n, at := range times {
		if numbers[n] != n || at != time.Duration(n+50)*time.Millisecond {
			t.Fatalf("number %d after %v", numbers[n], at)
		}
	}
	numbers, times = inLane(t, 1, Conditions{Delay: Duration(50 * time.Millisecond), Jitter: Duration(20 * time.Millisecond)}, 100)
	if len(numbers) != 100 || slices.IsSorted(numbers) {
		t.Errorf("%v", numbers)
	}
	for n, at := range times {
		if late := at - time.Duration(numbers[n])*time.Millisecond; late < 50*time.Millisecond || late > 70*time.Millisecond {
			t.Errorf("%d took %v", numbers[n], late)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDirection(1, 0)
		d.begin(&Conditions{Delay: 1})
		var got []byte
		l := lane{d: d, send: func(b []byte) { got = append(got, b...) }}
		for n := range 200 {
			l.take([]byte{byte(n)}, 1)
		}
		time.Sleep(2)
		synctest.Wait()
		if len(got) != 200 || !slices.IsSorted(got) {
			t.Errorf("%d packets: %v", len(got), got)
		}
	})
}

// A limited rate spaces packets out and drops packets that would wait too long.
func TestLaneKeepsARate(t *testing.T) {
	t.Parallel()
	numbers, times := inLane(t, 1, Conditions{Rate: 50_000}, 10_000) // 2 ms per packet
	for i, at := range times {
		if i > 0 && at-times[i-1] < 2*time.Millisecond {
			t.Fatalf("%v after the one before", at-times[i-1])
		}
		if waited := at - time.Duration(numbers[i])*time.Millisecond; waited > queueMax+10*time.Millisecond {
			t.Fatalf("%d waited %v", numbers[i], waited)
		}
	}
	if len(numbers) < 5000 || len(numbers) > 5600 || !slices.IsSorted(numbers) {
		t.Errorf("%d packets", len(numbers))
	}
}

// Packets above the MTU are dropped and others pass. The requested share is duplicated. The number of waiting packets
// is bounded. Nothing passes during silence or after close. RL-104, RL-106.
func TestLaneDropsAndRepeats(t *testing.T) {
	t.Parallel()
	if numbers, _ := inLane(t, 1, Conditions{MTU: 99}, 100); len(numbers) != 0 {
		t.Errorf("%d of 100 bytes passed an MTU of 99", len(numbers))
	}
	if numbers, _ := inLane(t, 1, Conditions{MTU: 100}, 100); len(numbers) != 100 {
		t.Errorf("%d of 100 bytes passed an MTU of 100", len(numbers))
	}
	if numbers, _ := inLane(t, 1, Conditions{Duplicate: 1}, 100); len(numbers) != 200 || len(slices.Compact(numbers)) != 100 {
		t.Errorf("%d packets", len(numbers))
	}
	if numbers, _ := inLane(t, 1, Conditions{Delay: Duration(time.Minute)}, onTheWayMax+10); len(numbers) > onTheWayMax {
		t.Errorf("%d packets were on the way", len(numbers))
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDirection(1, 0)
		passed := 0
		l := lane{d: d, send: func([]byte) { passed++ }}
		slow, silent := &Conditions{Delay: Duration(time.Second)}, &Conditions{silent: true}
		d.begin(slow)
		l.take([]byte{1}, 1)
		d.begin(silent)
		time.Sleep(2 * time.Second) // packets in transit are lost too
		l.take([]byte{2}, 1)
		d.end(silent)
		l.take([]byte{3}, 1)
		l.close()
		if l.timer.Stop() {
			t.Error("the timer goes on")
		}
		l.take([]byte{4}, 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if passed != 0 {
			t.Errorf("%d packets passed", passed)
		}
	})
}
