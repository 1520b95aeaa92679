package replay

import (
	"fmt"
	"testing"
	"time"
)

func (a *Answers[K]) keep(key K, body []byte) {
	a.Begin(key)
	a.End(key, body, true)
}

func TestAnswersAreBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	a := New[string](func() time.Time { return now })
	for i := range Max + 10 {
		a.keep(fmt.Sprint(i), nil)
	}
	if len(a.kept) != Max || a.order.Len() != Max {
		t.Errorf("kept %d", len(a.kept))
	}
	if _, _, done := a.Begin("9"); done {
		t.Error("the oldest is still there")
	}
	if _, _, done := a.Begin("10"); !done {
		t.Error("more than the oldest are gone")
	}
	big := make([]byte, BytesMax/2)
	for i := range 3 {
		a.keep(fmt.Sprint("big", i), big)
		if a.bytes > BytesMax {
			t.Fatalf("%d bytes", a.bytes)
		}
	}
	a.keep("huge", make([]byte, BytesMax))
	if len(a.kept) != 1 {
		t.Errorf("kept %d", len(a.kept))
	}
	now = now.Add(Keep)
	a.Begin("y")
	if len(a.kept) != 0 || a.order.Len() != 0 || a.bytes != 0 {
		t.Errorf("kept %d, %d bytes", len(a.kept), a.bytes)
	}
}

func TestAFailureIsNotKept(t *testing.T) {
	a := New[string](time.Now)
	a.Begin("x")
	_, wait, _ := a.Begin("x")
	a.End("x", nil, false)
	<-wait
	if _, wait, done := a.Begin("x"); done || wait != nil {
		t.Error("the failure was kept")
	}
	if len(a.running) != 1 {
		t.Errorf("%d running", len(a.running))
	}
}
