package serviceapi

import "troupe/transport/awswire"

// The rules of package awswire under short names: the table of operations has hundreds of them.
type rule = awswire.Rule

const unbounded = awswire.Unbounded

var (
	required   = awswire.Required
	optionally = awswire.Optionally
	text       = awswire.Text
	blob       = awswire.Blob
	number     = awswire.Number
	oneOf      = awswire.OneOf
	listOf     = awswire.ListOf
	mapOf      = awswire.MapOf
	either     = awswire.Either
)

func structure[T any](rules ...rule) awswire.Check { return awswire.Structure[T](rules...) }

// enum is the check of an enumeration of the SDK.
func enum[T interface {
	~string
	Values() []T
}]() awswire.Check {
	var texts []string
	for _, v := range T("").Values() {
		texts = append(texts, string(v))
	}
	return oneOf(texts...)
}
