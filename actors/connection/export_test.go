package connection

import "troupe/actors/stage"

// Ref returns the actor of a connection.
func (h *Handle) Ref() *stage.Ref { return h.ref }
