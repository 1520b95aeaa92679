package endpoint_test

import (
	"testing"
	"testing/synctest"
)

// A process that was never activated is forgotten with its connection, and with it the answers that it may ask for again: who
// comes with its id is another process.
func TestAForgottenProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p")
		p.sendAs("a", "AcceptPlayerSession", seat("g", "psess-1"))
		if m := p.next(); m.StatusCode != 409 {
			t.Fatal(m.text)
		}
		p.nc.Close()
		synctest.Wait()
		p = w.connect("p")
		p.sendAs("a", "ActivateServerProcess", port(7777))
		if m := p.next(); m.StatusCode != 200 {
			t.Fatal(m.text)
		}
		p.nc.Close() // it is ready, and stays
		synctest.Wait()
		p = w.connect("p")
		p.sendAs("a", "ActivateServerProcess", port(7778))
		if m := p.next(); m.StatusCode != 200 {
			t.Error(m.text)
		}
	})
}
