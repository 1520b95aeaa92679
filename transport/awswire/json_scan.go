package awswire

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a JSON body, equal to those of a CBOR body. A few bytes may decode to a large struct.
const (
	jsonItemsMax   = cborItemsMax
	jsonNestingMax = cborNestingMax
)

var (
	errJSONItems = errors.New("too many JSON values")
	errJSONDepth = errors.New("JSON nested too deeply")
)

// scanJSON refuses a body with too many values or levels. It accepts malformed bodies, because the decoder
// reports the position of the mistake. For nearly all bodies, counting bytes proves that they are within the
// limits; only the others are scanned.
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
