package stage

// With returns a function that answers the request: with the value that answer points to when
// it is called, or with an error.
func (r Request[Q, A]) With(answer *A) func(error) {
	return func(err error) {
		if err != nil {
			var none A
			r.Reply(none, err)
			return
		}
		r.Reply(*answer, nil)
	}
}
