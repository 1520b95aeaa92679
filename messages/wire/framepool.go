package wire

import "sync"

// classes are the sizes frames are pooled by, in bytes of one unit. The first
// holds control packets and small state updates, which are most of the traffic;
// then the limits of the protocol with their overhead: a fast payload, a client
// payload, a script payload. Steps of about four waste little and keep the
// number of pools small.
var classes = [...]int{
	128,
	384,
	FastPayloadMax + overheadMax,
	PayloadMax + overheadMax,
	16384,
	ScriptPayloadMax + overheadMax,
}

// classNone marks a frame too large for the pools; the collector takes it.
const classNone = -1

// lists and pools hold released frames with their bytes, one of each for each
// class; safe for concurrent use. Frames that wait for a confirmation come back in
// bursts, seconds later, and a sync.Pool would have lost many of them to the
// collector by the time they are needed. So a bounded list keeps some; what it has
// no place for goes to the pool, which gives memory back.
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

// give reports whether there was a place for f.
func (l *freeList) give(f *Frame) bool {
	l.mu.Lock()
	room := len(l.frames) < listBytesMax/classes[f.class]
	if room {
		l.frames = append(l.frames, f)
	}
	l.mu.Unlock()
	return room
}

// takeFrame returns a frame whose unit has room for size bytes. Its fields
// other than class and unit are those of its previous life.
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

// giveFrame takes back a frame nobody refers to. Race builds overwrite its bytes
// first, so that a reader without a reference sees garbage, or is caught.
func giveFrame(f *Frame) {
	if raceEnabled {
		clear(f.unit)
	}
	if f.class != classNone && !lists[f.class].give(f) {
		pools[f.class].Put(f)
	}
}
