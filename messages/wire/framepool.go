package wire

import "sync"

// classes are the sizes by which frames are pooled, in bytes of one unit. The first is for control packets and small state updates, most
// of the traffic; others are the protocol's payload limits with their overhead. Steps of about four waste little and keep the pools few.
var classes = [...]int{
	128,
	384,
	FastPayloadMax + overheadMax,
	PayloadMax + overheadMax,
	16384,
	ScriptPayloadMax + overheadMax,
}

// classNone marks a frame too large for the pools; it is garbage collected.
const classNone = -1

// lists and pools hold released frames with their bytes, by class, safe for concurrent use. Unconfirmed frames are released in
// bursts, seconds later: the garbage collector would take many out of a sync.Pool. So a bounded list keeps some, the pool the rest.
var (
	lists [len(classes)]freeList
	pools [len(classes)]sync.Pool
)

// listBytesMax bounds a list by the bytes of its frames.
const listBytesMax = 4 << 20

type freeList struct {
	mu     sync.Mutex
	frames []*Frame
}

func (l *freeList) take() (f *Frame) {
	l.mu.Lock()
	if last := len(l.frames) - 1; last >= 0 {
		f = l.frames[last]
		l.frames[last] = nil
		l.frames = l.frames[:last]
	}
	l.mu.Unlock()
	return f
}

// give keeps as many of frames, all of one class, as fit, and returns the others.
func (l *freeList) give(frames []*Frame) (others []*Frame) {
	l.mu.Lock()
	n := min(len(frames), listBytesMax/classes[frames[0].class]-len(l.frames))
	l.frames = append(l.frames, frames[:n]...)
	l.mu.Unlock()
	return frames[n:]
}

// takeFrame returns a frame with room for size bytes; all fields but class and unit are those of its previous use.
func takeFrame(size int) *Frame {
	for class, room := range classes {
		if size > room {
			continue
		}
		if f := lists[class].take(); f != nil {
			return f
		}
		if f, ok := pools[class].Get().(*Frame); ok {
			return f
		}
		return &Frame{class: int8(class), unit: make([]byte, 0, room)}
	}
	return &Frame{class: classNone, unit: make([]byte, 0, size)}
}

func giveFrame(f *Frame) {
	one := [1]*Frame{f}
	giveFrames(one[:])
}

// giveFrames takes back frames without references, consecutive ones of a class under one lock, because players confirm
// hundreds at a time, many at once. Race builds overwrite the bytes first, so that a reader without a reference is reported.
func giveFrames(frames []*Frame) {
	for len(frames) > 0 {
		class, n := frames[0].class, 0
		for ; n < len(frames) && frames[n].class == class; n++ {
			if raceEnabled {
				clear(frames[n].unit)
			}
		}
		if class != classNone {
			for _, f := range lists[class].give(frames[:n]) {
				pools[class].Put(f)
			}
		}
		frames = frames[n:]
	}
}
