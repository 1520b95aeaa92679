package awswire

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a JSON body, as those of a CBOR one: an item of few bytes may become a struct of many.
const (
	jsonItemsMax   = cborItemsMax
	jsonNestingMax = cborNestingMax
)

var (
	errJSONItems = errors.New("too many JSON values")
	errJSONDepth = errors.New("JSON nested too deeply")
)

// scanJSON refuses a body of too many values or levels. Malformed bodies pass: the decoder reports the position. Counting bytes shows of
// nearly all bodies that they are within the bounds; only the rest are scanned.
func scanJSON(body []byte) error {
	if bytes.Count(body, []byte(",")) < jsonItemsMax/4 && bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) < jsonNestingMax {
		return nil
	}
	tokens := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	for items := 0; ; items++ {
		if _, err := tokens.ReadToken(); err != nil {
			return nil //nolint:nilerr // the end, or malformed
		}
		switch {
		case items == jsonItemsMax:
			return errJSONItems
		case tokens.StackDepth() > jsonNestingMax:
			return errJSONDepth
		}
	}
}
