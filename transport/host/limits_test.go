package host

import "testing"

// reliability.md 5.2. A login costs the host some 75 us, of which a connection alone takes 55, so
// a lower rate spares running games little and makes players wait.
func TestTheDefaultsAdmitEightThousandLoginsPerSecond(t *testing.T) {
	c := Defaults()
	if got := c.gatewayLimits(); got.LoginsPerSecond < 8000 || got.LoginsWaiting != c.Limits.LoginsWaiting {
		t.Errorf("%v logins per second, %d may wait", got.LoginsPerSecond, got.LoginsWaiting)
	}
}
