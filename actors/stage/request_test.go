package stage_test

import (
	"errors"
	"testing"

	"troupe/actors/stage"
	"troupe/messages"
)

var errEnded = errors.New("ended")

type (
	question struct{ messages.ToThisHost[int] }
	goodbye  struct{ question }
	shutdown struct{ question }
)

func (goodbye) DeadLetterError() error  { return errEnded }
func (shutdown) DeadLetterError() error { return nil }

// answered returns how often and with which error a dead request is answered.
func answered(q messages.Request) (n int, got error) {
	stage.Ask{Request: q, Reply: func(_ any, err error) { n, got = n+1, err }}.OnDeadLetter()
	return n, got
}

func TestARequestThatIsADeadLetterIsAnsweredOnce(t *testing.T) {
	if n, err := answered(question{}); n != 1 || !errors.Is(err, &messages.Error{Code: messages.Unavailable}) {
		t.Errorf("%d answers, the last %v", n, err)
	}
	if n, err := answered(goodbye{}); n != 1 || err != errEnded {
		t.Errorf("with an error of its own: %d answers, the last %v", n, err)
	}
	if n, err := answered(shutdown{}); n != 1 || err != nil {
		t.Errorf("without an error: %d answers, the last %v", n, err)
	}
}
