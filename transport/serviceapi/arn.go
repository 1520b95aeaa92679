package serviceapi

import (
	"strings"

	"troupe/messages"
	"troupe/transport/awswire"
)

// arns formats and parses ARNs of one region and account (service-api.md 2.2).
//
//	arn:<partition>:gamelift:<region>:<account>:<kind>/<id>
//
// On input, the partition and the account are ignored, because callers send ARNs with and without an account.
type arns struct{ region, account string }

const arnPrefix = "arn:aws:gamelift:"

func (a arns) mint(kind, id string) string {
	return arnPrefix + a.region + ":" + a.account + ":" + kind + "/" + id
}

// mintWithoutAccount is mint for aliases, whose ARNs have no account.
func (a arns) mintWithoutAccount(kind, id string) string {
	return arnPrefix + a.region + "::" + kind + "/" + id
}

// resource returns the last part, `<kind>/<id>`, of an ARN of this region.
func (a arns) resource(arn string) (string, error) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return "", invalid("%q is not an ARN", awswire.Clip(arn))
	}
	if parts[2] != "gamelift" || parts[3] != a.region {
		return "", messages.Errorf(messages.NotFound, "%q belongs to another service or region than gamelift in %s", awswire.Clip(arn), a.region)
	}
	return parts[5], nil
}

// id returns the id in an ARN of the given kind. An id is returned unchanged.
func (a arns) id(kind, idOrARN string) (string, error) {
	if !strings.HasPrefix(idOrARN, "arn:") {
		return idOrARN, nil
	}
	resource, err := a.resource(idOrARN)
	if err != nil {
		return "", err
	}
	id, ok := strings.CutPrefix(resource, kind+"/")
	if !ok {
		return "", invalid("%q is not the ARN of a %s", awswire.Clip(idOrARN), kind)
	}
	return id, nil
}

// gameSession converts the ARN of a game session to the form that the host uses, without an account.
func (a arns) gameSession(arn string) (messages.GameSessionID, error) {
	resource, err := a.resource(arn)
	if err != nil || !strings.HasPrefix(resource, "gamesession/") {
		return "", messages.Errorf(messages.NotFound, "there is no game session %q in %s", awswire.Clip(arn), a.region)
	}
	return messages.GameSessionID(arnPrefix + a.region + "::" + resource), nil
}

// idOf is id for an optional member.
func idOf[ID ~string](a arns, kind string, member *string) (ID, error) {
	if member == nil {
		return "", nil
	}
	id, err := a.id(kind, *member)
	return ID(id), err
}

func (a arns) fleet(member *string) (messages.FleetID, error) {
	return idOf[messages.FleetID](a, "fleet", member)
}
func (a arns) alias(member *string) (messages.AliasID, error) {
	return idOf[messages.AliasID](a, "alias", member)
}
func (a arns) script(member *string) (messages.ScriptID, error) {
	return idOf[messages.ScriptID](a, "script", member)
}
func (a arns) build(member *string) (messages.BuildID, error) {
	return idOf[messages.BuildID](a, "build", member)
}
func (a arns) queue(member *string) (messages.QueueName, error) {
	return idOf[messages.QueueName](a, kindQueue, member)
}
func (a arns) matcher(member *string) (messages.MatchmakerName, error) {
	return idOf[messages.MatchmakerName](a, kindMatcher, member)
}
func (a arns) ruleSet(member *string) (messages.RuleSetName, error) {
	return idOf[messages.RuleSetName](a, kindRuleSet, member)
}
