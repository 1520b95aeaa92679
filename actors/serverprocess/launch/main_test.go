package launch

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		beServer(os.Getenv(role))
		return
	}
	goleak.VerifyTestMain(m)
}
