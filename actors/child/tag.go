package child

import "math/rand/v2"

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
