package ruleset

import (
	"slices"
	"time"
)

// Limits of the language.
const (
	MaxCharacters    = 65535 // length of a rule set
	MaxSmallPlayers  = 40    // players of a small match
	MaxPlayers       = 200   // players of a large match
	MaxAttributes    = 100   // attributes of a rule set; each takes memory in every ticket
	MaxStages        = 100   // different wait times of all expansions; each takes memory for all rules
	maxTeamName      = 128
	maxNesting       = 16 // nested functions in an expression, and nested operators in a statement
	maxWarnings      = 100
	maxQuotedSnippet = 60 // characters of the rule set that an error message quotes
)

// RuleSet is a valid rule set. It is immutable and safe for concurrent use.
type RuleSet struct {
	Name       string
	Attributes []Attribute
	Algorithm  Algorithm
	Teams      []Team // one per instance, in the order of declaration
	Rules      []*Rule
	Stages     []Stage // sorted by From; the first stage begins at age 0
	Changes    []Change
	Warnings   []Warning

	// Symmetric means that no rule and no expansion refers to a single team. Then teams with equal limits are
	// interchangeable.
	Symmetric bool
}

// Large reports whether matches may have more than 40 players. Such matches are formed by the algorithm for
// large matches.
func (r *RuleSet) Large() bool { return totalPlayers(r.Teams) > MaxSmallPlayers }

// Attribute returns the index of a declared attribute, or -1.
func (r *RuleSet) Attribute(name string) int {
	return slices.IndexFunc(r.Attributes, func(a Attribute) bool { return a.Name == name })
}

// Team returns the index of a team instance, or -1.
func (r *RuleSet) Team(name string) int {
	return slices.IndexFunc(r.Teams, func(t Team) bool { return t.Name == name })
}

// StageAt returns the index of the stage in force at the given age.
func (r *RuleSet) StageAt(age time.Duration) int {
	later := slices.IndexFunc(r.Stages, func(s Stage) bool { return age < s.From })
	if later < 0 {
		later = len(r.Stages)
	}
	return max(0, later-1)
}

// AttributeType is the type of a player attribute.
type AttributeType string

// The attribute types; the values are those in rule sets.
const (
	String          AttributeType = "string"
	Number          AttributeType = "number"
	StringList      AttributeType = "string_list"
	StringNumberMap AttributeType = "string_number_map"
)

// Attribute is a declared player attribute.
type Attribute struct {
	Name    string
	Type    AttributeType
	Default *Value // nil if players must have the attribute
}

// Value is the value of a player attribute. Type determines which field is used.
type Value struct {
	Type AttributeType
	S    string
	N    float64
	SL   []string
	SDM  map[string]float64
}

// Team is one instance of a team definition.
type Team struct {
	Name     string // ends with a number if the quantity is greater than 1
	Min, Max int    // number of players
}

// The values of the algorithm block.
const (
	ExhaustiveSearch = "exhaustiveSearch"
	Balanced         = "balanced"

	Random            = "random"
	Sorted            = "sorted"
	LargestPopulation = "largestPopulation"
	FastestRegion     = "fastestRegion"

	Newest = "newest"
	Oldest = "oldest"

	BackfillNormal = "normal"
	BackfillHigh   = "high"
	BackfillLow    = "low"
)

// Algorithm is the algorithm block, with defaults filled in.
type Algorithm struct {
	Strategy          string // how matches are formed
	Batching          string // how a pool is split into batches
	BalancedAttribute int    // index, or -1
	SortBy            []int  // indexes of attributes
	ExpansionAge      string // which ticket's age counts for expansions
	Backfill          string // priority of backfill tickets
}

// RuleType is one of the nine types of rules.
type RuleType string

// The types of rules. The values are those in rule sets.
const (
	Comparison    RuleType = "comparison"
	Distance      RuleType = "distance"
	Collection    RuleType = "collection"
	Latency       RuleType = "latency"
	BatchDistance RuleType = "batchDistance"
	DistanceSort  RuleType = "distanceSort"
	AbsoluteSort  RuleType = "absoluteSort"
	Compound      RuleType = "compound"
)

// IsSort reports whether rules of the type only order candidates.
func (t RuleType) IsSort() bool { return t == DistanceSort || t == AbsoluteSort }

// Aggregation determines how the values of a party are combined.
type Aggregation string

// The aggregations. If a rule has none, a collection rule uses each player's list separately (NoAggregation),
// and other rules use Average.
const (
	NoAggregation Aggregation = ""
	Average       Aggregation = "avg"
	Minimum       Aggregation = "min"
	Maximum       Aggregation = "max"
	Union         Aggregation = "union"
	Intersection  Aggregation = "intersection"
)

// Operations of comparison and collection rules.
const (
	Less         = "<"
	LessEqual    = "<="
	Equal        = "="
	NotEqual     = "!="
	Greater      = ">"
	GreaterEqual = ">="

	Intersect      = "intersection"
	Contains       = "contains"
	ReferenceCount = "reference_intersection_count"
)

// Rule is one rule with the values of one stage. A property that the rule does not have is nil, "" or -1.
type Rule struct {
	Name         string
	Type         RuleType
	Index        int // index in RuleSet.Rules
	Measurements []*Expr
	Reference    *Reference
	Operation    string
	Party        Aggregation

	MinDistance, MaxDistance *float64
	MinCount, MaxCount       *float64
	MaxLatency               *float64    // in milliseconds
	DistanceReference        Aggregation // Minimum or Average

	Attribute  int // batchAttribute or sortAttribute
	Descending bool
	MapKey     string // "minValue" or "maxValue"

	Statement *Statement

	// Member means that a compound rule refers to this rule. Then this rule is evaluated only as part of the
	// compound rule.
	Member bool
}

func (r *Rule) number(property string) **float64 {
	switch property {
	case "minDistance":
		return &r.MinDistance
	case "maxDistance":
		return &r.MaxDistance
	case "minCount":
		return &r.MinCount
	case "maxCount":
		return &r.MaxCount
	}
	return &r.MaxLatency
}

// Enforced reports whether every match must satisfy the rule.
func (r *Rule) Enforced() bool { return !r.Member && !r.Type.IsSort() }

// Reference is a referenceValue. Exactly one of Number, Text, Texts and Expr is set.
type Reference struct {
	Number  *float64
	Text    *string
	Texts   []string
	Literal bool // one of Number, Text and Texts is set
	Expr    *Expr
}

// Statement is the statement of a compound rule, or an operand in it.
type Statement struct {
	Op   string // "and", "or", "xor" or "not"; "" for a reference to a rule
	Args []*Statement
	Rule int // index of the rule
}

// Leaves returns the indexes of the rules to which the statement refers.
func (s *Statement) Leaves() (rules []int) {
	if s.Op == "" {
		return []int{s.Rule}
	}
	for _, a := range s.Args {
		rules = append(rules, a.Leaves()...)
	}
	return rules
}

// Stage contains the values in force from age From until the next stage.
type Stage struct {
	From  time.Duration
	Teams []Team
	Rules []*Rule // in the order of RuleSet.Rules
}

// Change is the effect of one step of an expansion.
type Change struct {
	Target string // as in the rule set
	At     time.Duration
	From   string // the value before the step, as JSON
	To     string
}

func totalPlayers(teams []Team) int {
	total := 0
	for _, t := range teams {
		total += t.Max
	}
	return total
}
