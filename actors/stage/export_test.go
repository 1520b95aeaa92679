package stage

// PlaceOf is placeOf.
func PlaceOf(n uint64, shards, groups int) (shard int, group uint8) {
	return placeOf(n, shards, groups)
}
