package messages

import (
	"encoding/json"
	"fmt"
)

// MatchData is the matchmaker data of a game session, for games in Go (flexmatch.md 17).
type MatchData struct {
	Match         MatchID  `json:"matchId"`
	Configuration string   `json:"matchmakingConfigurationArn"`
	Teams         []Team   `json:"teams"`
	Mode          string   `json:"autoBackfillMode"`     // AUTOMATIC, or empty
	Ticket        TicketID `json:"autoBackfillTicketId"` // of automatic backfill; empty: none
}

// Team is one team of a match; it may be empty.
type Team struct {
	Name    string       `json:"name"`
	Players []TeamPlayer `json:"players"`
}

// TeamPlayer is a player of a match. Value has a string, a number, a list or a map, by the type of the attribute.
type TeamPlayer struct {
	ID         PlayerID `json:"playerId"`
	Attributes map[string]struct {
		Type  string `json:"attributeType"` // STRING, DOUBLE, STRING_LIST or STRING_DOUBLE_MAP
		Value any    `json:"valueAttribute"`
	} `json:"attributes"`
}

// ParseMatchData reads GameSession.MatchmakerData, which is empty for a game session that no match has made: that is an error.
func ParseMatchData(data string) (*MatchData, error) {
	d := new(MatchData)
	if err := json.Unmarshal([]byte(data), d); err != nil {
		return nil, fmt.Errorf("messages: matchmaker data: %w", err)
	}
	return d, nil
}

// Player returns the team of a player, and the player; nil if no match has brought it.
func (d *MatchData) Player(id PlayerID) (team string, p *TeamPlayer) {
	for i := range d.Teams {
		for j := range d.Teams[i].Players {
			if p := &d.Teams[i].Players[j]; p.ID == id {
				return d.Teams[i].Name, p
			}
		}
	}
	return "", nil
}
