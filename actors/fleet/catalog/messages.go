package catalog

import (
	"troupe/actors/script/bundle"
	"troupe/messages"
)

// Requests whose archive this host has unpacked.
type (
	// NewScript creates a script from a bundle; of Request.Zip only the size is used.
	NewScript struct {
		messages.ToThisHost[*messages.Script]
		Request messages.CreateScript
		Bundle  *bundle.Bundle
	}
	// ChangeScript changes a script. A nil bundle keeps the content.
	ChangeScript struct {
		messages.ToThisHost[messages.UpdatedScript]
		Request messages.UpdateScript
		Bundle  *bundle.Bundle
	}
)
