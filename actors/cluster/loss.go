package cluster

import "troupe/messages/coord"

// verdict is what the answers of a node that is not registered mean.
type verdict uint8

const (
	gone    verdict = iota + 1 // the process is gone
	silent                     // stopped, cut off, powered off
	adrift                     // alive, without a lease
	unheard                    // the one that asks may be cut off itself
)

// judge says what answers mean: the first is that to this node, the others are what came of it when others asked. One that did not say has 0.
func judge(answers []coord.Outcome) verdict {
	v, sure := gone, len(answers) == 1
	for i, a := range answers {
		switch a {
		case coord.Answered:
			return adrift
		case coord.Refused:
		default:
			v = silent
		}
		sure = sure || i > 0 && a != 0
	}
	if !sure {
		return unheard
	}
	return v
}
