package serviceapi

import (
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

// The scalar types of the service model that the operations here use, under
// the names of service-api.md Appendix A.
var (
	aliasIDOrARN         = text(0, unbounded, `^alias-\S+|^arn:.*:alias\/alias-\S+`)
	arnString            = text(1, 512, `[a-zA-Z0-9:/-]+`)
	buildIDOrARN         = text(0, unbounded, `^build-\S+|^arn:.*:build\/build-\S+`)
	fleetIDOrARN         = text(1, 512, `^[a-z]*fleet-[a-zA-Z0-9\-]+$|^arn:.*:[a-z]*fleet\/[a-z]*fleet-[a-zA-Z0-9\-]+$`)
	gamePropertyKey      = text(0, 32, "")
	gamePropertyValue    = text(0, 96, "")
	idString             = text(1, 48, `[a-zA-Z0-9-]+`)
	largeGameSessionData = text(1, 262144, "")
	locationString       = text(1, 64, `^[A-Za-z0-9\-]+`)
	nonZeroAndMaxString  = text(1, 1024, "")
	playerData           = text(1, 2048, "")
	playerID             = text(1, 1024, "")
	playerSessionID      = text(0, unbounded, `^psess-\S+`)
	positiveInteger      = number(1, unbounded)
	scriptIDOrARN        = text(0, unbounded, `^script-\S+|^arn:.*:script\/script-\S+`)
	wholeNumber          = number(0, unbounded)

	gameSessionStatus = oneOf(names(messages.GameSessionStatuses())...)
	gameProperties    = listOf(0, 16, structure[types.GameProperty](
		required("Key", gamePropertyKey),
		required("Value", gamePropertyValue),
	))
)

// names lists the API's names of statuses.
func names[S interface{ String() string }](statuses []S) []string {
	texts := make([]string, len(statuses))
	for i, s := range statuses {
		texts[i] = s.String()
	}
	return texts
}
