package server

// Halves parts the cores that this process may use: one half for a server, the other for who loads it, so that neither
// finds its caches full of the other's. Nil where that cannot be done: one core, or another system than Linux.
func Halves() (server, load []int) {
	all, err := cores()
	if err != nil || len(all) < 2 {
		return nil, nil
	}
	return all[:len(all)/2], all[len(all)/2:]
}
