package script

// Stopper is a Handler whose calls may take long. Stop ends a call that is under way soon: its
// game session is to end. It may be called from any goroutine, during calls, and more than once.
type Stopper interface {
	Handler
	Stop(reason string)
}
