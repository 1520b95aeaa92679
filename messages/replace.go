package messages

// Replace sets a member to the value of an update, unless that is nil.
func Replace[T any](member, given *T) {
	if given != nil {
		*member = *given
	}
}
