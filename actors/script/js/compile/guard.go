package compile

// CheckSource refuses source that a script makes while it runs and that is nested so
// deeply that the engine's parser would overflow the stack, which ends the process.
func CheckSource(text string) error {
	if len(text) > SourceMax {
		return &Error{File: "source", Message: "it is too long"}
	}
	return check("source", text)
}

// CheckJSON does so for JSON.
func CheckJSON(text string) error { return checkJSON("JSON", text) }
