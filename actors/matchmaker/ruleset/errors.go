package ruleset

import "fmt"

// Code identifies the check of flexmatch.md 10 that a rule set failed. Messages to clients begin with it.
type Code string

// The codes, in the order of the checks.
const (
	ErrSize            Code = "E_SIZE"
	ErrJSON            Code = "E_JSON"
	ErrVersion         Code = "E_VERSION"
	ErrAttrName        Code = "E_ATTR_NAME"
	ErrAttrType        Code = "E_ATTR_TYPE"
	ErrAttrDefault     Code = "E_ATTR_DEFAULT"
	ErrTeamsMissing    Code = "E_TEAMS_MISSING"
	ErrTeamName        Code = "E_TEAM_NAME"
	ErrTeamSize        Code = "E_TEAM_SIZE"
	ErrAlgorithm       Code = "E_ALGO"
	ErrLarge           Code = "E_LARGE"
	ErrRuleName        Code = "E_RULE_NAME"
	ErrRuleType        Code = "E_RULE_TYPE"
	ErrRuleProperty    Code = "E_RULE_PROPERTY"
	ErrExprSyntax      Code = "E_EXPR_SYNTAX"
	ErrExprRef         Code = "E_EXPR_REF"
	ErrExprType        Code = "E_EXPR_TYPE"
	ErrCompound        Code = "E_COMPOUND"
	ErrExpansionTarget Code = "E_EXPANSION_TARGET"
	ErrExpansionSteps  Code = "E_EXPANSION_STEPS"
	ErrUnknownProperty Code = "E_UNKNOWN_PROPERTY" // with Options.Strict only
)

// Error describes the first check that a rule set failed.
type Error struct {
	Code   Code
	Path   string // position as a JSON path, such as $.rules[0].measurements[1]
	Reason string // one sentence
}

// Error returns the code, the path and the reason.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Code, e.Path, e.Reason) }

// Warning is a probable mistake in a valid rule set.
type Warning struct {
	Path   string
	Reason string
}

// String returns the path and the reason.
func (w Warning) String() string { return w.Path + ": " + w.Reason }
