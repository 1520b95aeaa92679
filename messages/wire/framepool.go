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

// pools hold released frames with their bytes, one pool for each class. They are
// safe for concurrent use and give memory back at collections.
var pools [len(classes)]sync.Pool

// takeFrame returns a frame whose unit has room for size bytes. Its fields
// other than class and unit are those of its previous life.
func takeFrame(size int) *Frame {
	for class, room := range classes {
		if size > room {
			continue
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
	if f.class != classNone {
		pools[f.class].Put(f)
	}
}
