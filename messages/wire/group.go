package wire

// Field numbers of the group commands and of GroupMembershipUpdate.
const (
	fieldGroup             = 1
	fieldMembershipPlayers = 2
)

// Membership is the content of GROUP_MEMBERSHIP_UPDATE: the players of a group.
type Membership struct {
	Group   int32
	Players []int32
}

// ParseGroup returns the group id in the inner message of JOIN_GROUP, LEAVE_GROUP or REQUEST_GROUP_MEMBERSHIP. It
// returns 0 if the id is absent. The id may be any int32; the server checks that the id of a group to join is positive.
// Errors match ErrMalformed.
func ParseGroup(inner []byte) (group int32, err error) {
	var f field
	for len(inner) > 0 {
		if inner, err = f.next(inner); err != nil {
			return 0, err
		}
		if f.typ == typeVarint && f.number == fieldGroup {
			group = int32(f.varint)
		}
	}
	return group, nil
}

func appendGroup(dst []byte, group int32) []byte {
	return appendInt32(dst, fieldGroup, group)
}

// Parse decodes the inner message of GROUP_MEMBERSHIP_UPDATE. The players may be packed or not. They are appended to
// m.Players[:0], so a reused m does not allocate memory. Errors match ErrMalformed and leave m undefined. It is for
// clients only.
func (m *Membership) Parse(inner []byte) (err error) {
	m.Group, m.Players = 0, m.Players[:0]
	var f field
	for len(inner) > 0 {
		if inner, err = f.next(inner); err != nil {
			return err
		}
		switch {
		case f.typ == typeVarint && f.number == fieldGroup:
			m.Group = int32(f.varint)
		case f.typ == typeVarint && f.number == fieldMembershipPlayers:
			m.Players = append(m.Players, int32(f.varint))
		case f.typ == typeBytes && f.number == fieldMembershipPlayers:
			for packed := f.bytes; len(packed) > 0; {
				var v uint64
				if v, packed, err = uvarint(packed); err != nil {
					return err
				}
				m.Players = append(m.Players, int32(v))
			}
		}
	}
	return nil
}

// ParseMembership is like Membership.Parse, but returns a new value.
func ParseMembership(inner []byte) (m Membership, err error) {
	if err := m.Parse(inner); err != nil {
		return Membership{}, err
	}
	return m, nil
}

// appendMembership appends the inner message with the players packed.
func appendMembership(dst []byte, group int32, players []int32) []byte {
	dst = appendInt32(dst, fieldGroup, group)
	if len(players) == 0 {
		return dst
	}
	size := 0
	for _, player := range players {
		size += sizeVarint(uint64(player))
	}
	dst = appendTag(dst, fieldMembershipPlayers, typeBytes)
	dst = appendVarint(dst, uint64(size))
	for _, player := range players {
		dst = appendVarint(dst, uint64(player))
	}
	return dst
}
