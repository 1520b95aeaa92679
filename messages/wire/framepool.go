package wire

import "sync"

// classes are the size classes of pooled frames, in bytes of one unit. The first is for control packets and small state
// updates, which are most of the traffic. The others are the protocol's payload limits plus overhead. Steps of about
// four keep both the wasted memory and the number of pools small.
var classes = [...]int{
	128,
	384,
	FastPayloadMax + overheadMax,
	PayloadMax + overheadMax,
	16384,
	ScriptPayloadMax + overheadMax,
}

// classNone marks a frame that is too large for the pools. It is garbage collected.
const classNone = -1

// lists and pools hold released frames and their bytes, by size class. They are safe for concurrent use. Unconfirmed
// frames are released in bursts, seconds after they were built. By then the garbage collector would have removed many
// frames from a sync.Pool. Therefore a bounded list keeps some frames, and the pool keeps the rest.
var (
	lists [len(classes)]freeList
	pools [len(classes)]sync.Pool
)

// listBytesMax limits the size of the frames in a list, in bytes.
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

// give adds frames, all of one class, to the list as far as they fit. It returns the others.
func (l *freeList) give(frames []*Frame) (others []*Frame) {
	l.mu.Lock()
	n := min(len(frames), listBytesMax/classes[frames[0].class]-len(l.frames))
	l.frames = append(l.frames, frames[:n]...)
	l.mu.Unlock()
	return frames[n:]
}

// takeFrame returns a frame with room for size bytes. All fields except class and unit still have the values of the
// frame's previous use.
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

// giveFrames takes back frames without references. It locks a list once for consecutive frames of the same class,
// because many players may each confirm hundreds of frames at the same time. Race builds overwrite the bytes first, so
// that the race detector reports a reader without a reference.
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
