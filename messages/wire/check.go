package wire

import "unicode/utf8"

// checkInner parses an inner message without storing anything. It returns an error for everything that protobuf's
// decoder would refuse.
func checkInner(command Command, b []byte) (err error) {
	var f field
	for len(b) > 0 {
		if b, err = f.next(b); err != nil {
			return err
		}
		if f.typ != typeBytes {
			continue
		}
		if command.hasString(f.number) && !utf8.Valid(f.bytes) {
			return ErrUTF8
		}
		if command == CommandGroupMembershipUpdate && f.number == fieldMembershipPlayers {
			if err := checkPacked(f.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPacked(b []byte) (err error) {
	for len(b) > 0 {
		if _, b, err = uvarint(b); err != nil {
			return err
		}
	}
	return nil
}
