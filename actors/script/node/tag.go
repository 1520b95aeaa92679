package node

import (
	"math/rand/v2"
	"os"
	"strconv"
)

// tag is the random number of one program. With a child's serial number it marks the child and all that descends from it.
type tag uint32

const (
	tagBits   = 30
	serialMax = 1<<24 - 2 // serial numbers begin at 1

	groupsTag tag = 1 << (tagBits - 1) // the mark is groups, too
)

// newTag returns a tag that is not 0.
func newTag(groups bool) tag {
	t := tag(1 + rand.N(uint32(groupsTag)-1))
	if groups {
		t |= groupsTag
	}
	return t
}

// save writes the tag into a lock file that the program holds, for the host that finds it free.
func (t tag) save(f *os.File) { _, _ = f.WriteString(strconv.FormatUint(uint64(t), 16)) }

// savedTag returns what save has written into a lock file; 0 if nothing.
func savedTag(path string) tag {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseUint(string(text), 16, tagBits)
	return tag(n)
}
