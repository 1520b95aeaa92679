package script

import (
	"encoding/json"

	"troupe/messages"
)

// Metadata returns the content of a fleet's gamelift-metadata.json in the original (realtime.md 18.4), or nil
// if fleet is nil.
func Metadata(fleet *messages.Fleet) []byte {
	if fleet == nil {
		return nil
	}
	data, err := json.MarshalIndent(map[string]any{
		"FleetId": fleet.ID, "Name": fleet.Name, "Description": fleet.Description, "ScriptId": fleet.ScriptID,
		"LaunchPath": fleet.LaunchPath, "Parameters": fleet.LaunchParams, "Locations": fleet.Locations,
	}, "", "  ")
	if err != nil {
		panic(err) // cannot happen: the values are strings
	}
	return data
}
