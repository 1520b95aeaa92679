package child

import (
	"math/rand/v2"
	"os"
	"strconv"
)

// Tag is a random number that identifies a Keeper. Together with a child's serial number, it marks the child
// and all its descendants.
type Tag uint32

const (
	tagBits   = 30
	serialMax = 1<<24 - 2 // serial numbers begin at 1

	groupsTag Tag = 1 << (tagBits - 1) // set if children are marked by groups as well
)

// NewTag returns a tag that is not 0 for children that run as a user.
func NewTag(u User) Tag { return newTag(marksGroups(u)) }

func newTag(groups bool) Tag {
	t := Tag(1 + rand.N(uint32(groupsTag)-1))
	if groups {
		t |= groupsTag
	}
	return t
}

// Save writes the tag to a lock file. A later host reads it if it finds the file unlocked.
func (t Tag) Save(f *os.File) { _, _ = f.WriteString(strconv.FormatUint(uint64(t), 16)) }

// SavedTag returns the tag that Save wrote to a lock file, or 0 if there is none.
func SavedTag(path string) Tag {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseUint(string(text), 16, tagBits)
	return Tag(n)
}
