package serviceapi

import (
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

// The scalar types of the service model that the operations here use, under
// their names in the model.
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
	launchPath           = text(1, 1024, `[A-Za-z0-9_:.+\/\\\- ]+`)
	launchParameters     = text(1, 1024, `[A-Za-z0-9_:.+\/\\\- =@;{},?'\[\]"]+`)
	nodeJSVersion        = text(0, 16, `^[0-9]+\.(?:x|[0-9]+)$`)
	nonEmptyString       = text(1, unbounded, "")
	metricGroup          = text(1, 255, "")
	portNumber           = number(1, 60000)
	zipBlob              = blob(0, 5_000_000)

	gameSessionStatus = oneOf(messages.GameSessionStatusNames()...)
	gameProperties    = listOf(0, 16, structure[types.GameProperty](
		required("Key", gamePropertyKey),
		required("Value", gamePropertyValue),
	))
)

// The structures and enumerations of scripts and fleets.
var (
	s3Location = structure[types.S3Location](
		optionally("Bucket", nonEmptyString),
		optionally("Key", nonEmptyString),
		optionally("RoleArn", nonEmptyString),
		optionally("ObjectVersion", nonEmptyString),
	)
	tagList = listOf(0, 200, structure[types.Tag](
		required("Key", text(1, 128, "")),
		required("Value", text(0, 256, "")),
	))
	ipPermissions = listOf(0, 50, structure[types.IpPermission](
		required("FromPort", portNumber),
		required("ToPort", portNumber),
		required("IpRange", text(0, unbounded, `[^\s]+`)),
		required("Protocol", enum[types.IpProtocol]()),
	))
	serverProcesses = listOf(1, 50, structure[types.ServerProcess](
		required("LaunchPath", launchPath),
		optionally("Parameters", launchParameters),
		required("ConcurrentExecutions", positiveInteger),
	))
	runtimeConfiguration = structure[types.RuntimeConfiguration](
		optionally("ServerProcesses", serverProcesses),
		optionally("MaxConcurrentGameSessionActivations", number(1, 1<<31-1)),
		optionally("GameSessionActivationTimeoutSeconds", number(1, 600)),
	)
	creationLimitPolicy = structure[types.ResourceCreationLimitPolicy](
		optionally("NewGameSessionsPerCreator", wholeNumber),
		optionally("PolicyPeriodInMinutes", wholeNumber),
	)
	certificateConfiguration = structure[types.CertificateConfiguration](
		required("CertificateType", enum[types.CertificateType]()),
	)
	locationConfigurations = listOf(1, 100, structure[types.LocationConfiguration](
		required("Location", locationString),
	))
	anywhereConfiguration = structure[types.AnywhereConfiguration](
		required("Cost", text(1, 11, `^\d{1,5}(?:\.\d{1,5})?$`)),
	)
	playerGatewayConfiguration = structure[types.PlayerGatewayConfiguration](
		optionally("GameServerIpProtocolSupported", enum[types.GameServerIpProtocolSupported]()),
	)
)
