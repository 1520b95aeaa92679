package script

import (
	"encoding/json"

	"troupe/messages"
)

// Metadata returns what the original keeps of a fleet in gamelift-metadata.json (realtime.md 18.4); nil without a fleet.
func Metadata(fleet *messages.Fleet) []byte {
	if fleet == nil {
		return nil
	}
	data, err := json.MarshalIndent(map[string]any{
		"FleetId": fleet.ID, "Name": fleet.Name, "Description": fleet.Description, "ScriptId": fleet.ScriptID,
		"LaunchPath": fleet.LaunchPath, "Parameters": fleet.LaunchParams, "Locations": fleet.Locations,
	}, "", "  ")
	if err != nil {
		panic(err) // strings alone
	}
	return data
}
