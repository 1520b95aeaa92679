package player

import "troupe/actors/stage"

// waiting decides when messages that are collected are written. The stage flushes them after flush.interval, counted
// from the first of them. They are written earlier, at the end of the batch, when as many wait as usually come in that
// time: that takes no more writes, and half of the messages wait for far less than half of the time (D-18). It is
// guarded by the outbox.
type waiting struct {
	dirty    bool  // a flush is scheduled
	messages int32 // since the last flush
	enough   int32 // flush when so many wait; 0: no flush but the scheduled one
	came     int32 // messages of the last collection
	since    int64 // when the first of them came; 0: there was none
	due      int64 // when what waits is to be flushed
	// Sums over past collections, the weight of each 7/8 of that of the next one: messages, and time as a part of
	// the interval.
	pastMessages, pastTime float32
}

const (
	waitingDecay = 7.0 / 8
	// waitingRound is added to the number of messages that usually come before its fraction is cut off. A little under
	// a half: with too small a number there are more writes, with too large a number more messages wait for the whole time.
	waitingRound = 0.375
	// waitingPauseMax is how much of a pause counts, as a multiple of the interval.
	waitingPauseMax = 4
	// waitingMost bounds the number of messages that are waited for.
	waitingMost = 1 << 16
)

// add says what to do after more messages.
func (w *waiting) add(more int) Pushed {
	w.messages += int32(more)
	switch {
	case !w.dirty:
		w.dirty = true
		return PushDirty
	case w.messages == w.enough && more > 0:
		return PushFlushAtEnd
	}
	return PushNothing
}

// until notes the turn of what waits, and that a message has just come as the first one.
func (w *waiting) until(t stage.Turn) {
	w.due = t.Due
	if w.since != 0 {
		took := min(waitingPauseMax, float32(t.Now-w.since)/float32(t.Interval))
		w.pastMessages = w.pastMessages*waitingDecay + float32(w.came)
		w.pastTime = w.pastTime*waitingDecay + took
	}
	w.since, w.came = t.Now, 0
	usual := float32(0)
	if w.pastTime > 0 {
		usual = min(waitingMost, w.pastMessages/w.pastTime+waitingRound)
	}
	w.enough = max(2, int32(usual))
}

// ends reports whether messages wait that are to be flushed at the turn due. They then no longer wait.
func (w *waiting) ends(due int64) bool {
	if !w.dirty || due < w.due {
		return false
	}
	if w.came += w.messages; w.enough == 0 {
		w.since, w.came = 0, 0 // it was not collected
	}
	w.forget()
	return true
}

// forget forgets what waits: another flush is coming, or there is no connection.
func (w *waiting) forget() { w.dirty, w.messages, w.enough = false, 0, 0 }
