package messages

// Replace sets *member to *given, unless given is nil.
func Replace[T any](member, given *T) {
	if given != nil {
		*member = *given
	}
}
