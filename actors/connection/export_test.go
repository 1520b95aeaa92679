package connection

import "troupe/actors/stage"

// Ref is the actor behind a connection.
func (h *Handle) Ref() *stage.Ref { return h.ref }
