package matchmaker

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"troupe/actors/matchmaker/ruleset"
	"troupe/messages"
)

// dataMax is the maximum number of characters in matchmaker data (flexmatch.md 17).
const dataMax = 390_000

// Matchmaker data in the format that the server SDKs read.
type (
	data struct {
		Match         messages.MatchID   `json:"matchId"`
		Configuration string             `json:"matchmakingConfigurationArn"`
		Teams         []dataTeam         `json:"teams"`
		Mode          *string            `json:"autoBackfillMode"`
		Ticket        *messages.TicketID `json:"autoBackfillTicketId"`
	}
	dataTeam struct {
		Name    string       `json:"name"`
		Players []dataPlayer `json:"players"`
	}
	dataPlayer struct {
		ID         messages.PlayerID        `json:"playerId"`
		Attributes map[string]dataAttribute `json:"attributes"`
	}
	dataAttribute struct {
		Type  string `json:"attributeType"`
		Value any    `json:"valueAttribute"`
	}
	// double is a number that is encoded with a decimal point.
	double float64
)

// MarshalJSON implements json.Marshaler.
func (d double) MarshalJSON() ([]byte, error) {
	f := float64(d)
	if math.Abs(f) < 1e15 && f == math.Trunc(f) {
		return strconv.AppendFloat(nil, f, 'f', 1, 64), nil
	}
	return json.Marshal(f)
}

func (m *Manager) dataOf(p *proposal) string {
	var players []messages.TicketPlayer
	for _, t := range p.tickets {
		players = append(players, t.record.Players...)
	}
	return p.k.data(p.record.ID, p.record.Teams, players, m.backfills(p), p.record.NextTicket)
}

// data returns matchmaker data. auto tells whether the game session has automatic backfill; then ticket is
// the ID of its next ticket, or "" if there is none.
func (k *matchmaker) data(id messages.MatchID, teams []messages.MatchTeam, all []messages.TicketPlayer, auto bool, ticket messages.TicketID) string {
	players := make(map[messages.PlayerID]*messages.TicketPlayer, len(all))
	for i := range all {
		players[all[i].ID] = &all[i]
	}
	d := data{Match: id, Configuration: k.record.ARN, Teams: make([]dataTeam, len(teams))}
	if auto {
		mode := "AUTOMATIC"
		d.Mode = &mode
		if ticket != "" {
			d.Ticket = &ticket
		}
	}
	for i, t := range teams {
		d.Teams[i] = dataTeam{t.Name, make([]dataPlayer, len(t.Players))}
		for j, id := range t.Players {
			d.Teams[i].Players[j] = dataPlayer{id, map[string]dataAttribute{}}
			if k.rules == nil || players[id] == nil {
				continue
			}
			for _, a := range k.rules.set.Attributes {
				if v, ok := players[id].Attributes[a.Name]; ok && attributeTypes[v.Kind] == a.Type {
					d.Teams[i].Players[j].Attributes[a.Name] = dataValue(ruleset.Value{Type: a.Type, S: v.S, N: v.N, SL: v.SL, SDM: v.SDM})
				} else if a.Default != nil {
					d.Teams[i].Players[j].Attributes[a.Name] = dataValue(*a.Default)
				}
			}
		}
	}
	return encode(d)
}

func dataValue(v ruleset.Value) dataAttribute {
	switch v.Type {
	case ruleset.Number:
		return dataAttribute{"DOUBLE", double(v.N)}
	case ruleset.StringList:
		return dataAttribute{"STRING_LIST", append([]string{}, v.SL...)}
	case ruleset.StringNumberMap:
		numbers := make(map[string]double, len(v.SDM))
		for key, n := range v.SDM {
			numbers[key] = double(n)
		}
		return dataAttribute{"STRING_DOUBLE_MAP", numbers}
	}
	return dataAttribute{"STRING", v.S}
}

// encode encodes a value as JSON without HTML escaping.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("matchmaker: " + err.Error()) // cannot happen: numbers are finite
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
