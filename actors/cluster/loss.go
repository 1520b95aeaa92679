package cluster

import "troupe/messages/coord"

// verdict is the conclusion from the attempts to reach a node that is not registered.
type verdict uint8

const (
	gone    verdict = iota + 1 // the process is gone
	silent                     // the process is stopped, disconnected or powered off
	adrift                     // the process is alive, but has no lease
	unheard                    // the asking node may itself be disconnected
)

// judge derives the verdict from several outcomes. The first outcome is that of this node's attempt; the others are
// those of other nodes' attempts. The outcome is 0 for a node that did not report one.
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
