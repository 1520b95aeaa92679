package messages

// Replace sets a member to what an update gives, if it gives one.
func Replace[T any](member, given *T) {
	if given != nil {
		*member = *given
	}
}
