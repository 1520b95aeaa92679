package clustertest

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewStore()
				defer s.Close()
				a, b := s.Client(), s.Client()
				a.SetFaults(Faults{Delay: time.Millisecond})
				c.Run(&Place{T: t, Prefix: "/test/", A: a, B: b, TTL: time.Second})
			})
		})
	}
}
