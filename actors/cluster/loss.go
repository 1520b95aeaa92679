package cluster

import "troupe/messages/coord"

// verdict is what the answers of a node that is not registered mean.
type verdict uint8

const (
	gone   verdict = iota + 1 // the process is gone
	silent                    // stopped, cut off, powered off
	adrift                    // alive, without a lease
)

// judge says what answers mean, those to this node and to others that asked for it. One that does not know is silent.
func judge(answers []coord.Outcome) verdict {
	v := gone
	for _, a := range answers {
		switch a {
		case coord.Answered:
			return adrift
		case coord.Refused:
		default:
			v = silent
		}
	}
	return v
}
