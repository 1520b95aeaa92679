package node

import (
	"math/rand/v2"
	"os"
	"strconv"
)

// tag is a random number that identifies a program. Together with a child's serial number, it marks the child
// and all its descendants.
type tag uint32

const (
	tagBits   = 30
	serialMax = 1<<24 - 2 // serial numbers begin at 1

	groupsTag tag = 1 << (tagBits - 1) // set if children are marked by groups as well
)

// newTag returns a tag that is not 0.
func newTag(groups bool) tag {
	t := tag(1 + rand.N(uint32(groupsTag)-1))
	if groups {
		t |= groupsTag
	}
	return t
}

// save writes the tag to the lock file of the program. A later host reads it if it finds the file unlocked.
func (t tag) save(f *os.File) { _, _ = f.WriteString(strconv.FormatUint(uint64(t), 16)) }

// savedTag returns the tag that save wrote to a lock file, or 0 if there is none.
func savedTag(path string) tag {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseUint(string(text), 16, tagBits)
	return tag(n)
}
