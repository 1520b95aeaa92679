package search

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// five returns the game sessions that the vectors use.
func five() []*messages.GameSession {
	of := func(id, name string, most, current int, created int64, properties ...messages.Property) *messages.GameSession {
		return &messages.GameSession{ID: messages.GameSessionID(id), Name: name, MaxPlayers: most, CurrentPlayers: current,
			Created: time.UnixMilli(created), Properties: properties}
	}
	return []*messages.GameSession{
		of("S1", "Matt's Awesome Game 1", 10, 3, 1000, messages.Property{Key: "difficulty", Value: "novice"}, messages.Property{Key: "map", Value: "winter"}),
		of("S2", "ranked-2", 4, 4, 2000, messages.Property{Key: "difficulty", Value: "expert"}, messages.Property{Key: "map", Value: "summer"}),
		of("S3", "ranked-3", 12, 10, 3000, messages.Property{Key: "map", Value: "winter"}, messages.Property{Key: "level", Value: "10"}),
		of("S4", "", 2, 0, 4000),
		of("S5", "Ranked-3", 10, 10, 5000, messages.Property{Key: "difficulty", Value: "novice"}, messages.Property{Key: "level", Value: "9"}),
	}
}

// The vectors of service-api.md 4.3. A non-zero position means that the filter must be refused with that position.
var filterVectors = []struct {
	n        int
	filter   string
	want     string
	position int
}{
	{1, `hasAvailablePlayerSessions=true`, "S1 S3 S4", 0},
	{2, `gameSessionName = 'Matt\'s Awesome Game 1'`, "S1", 0},
	{3, `gameSessionName='ranked-3'`, "S3", 0},
	{4, `gameSessionName<>'ranked-3'`, "S1 S2 S4 S5", 0}, // D-225
	{5, `gameSessionProperties.difficulty = 'novice'`, "S1 S5", 0},
	{6, `gameSessionProperties.difficulty = "novice"`, "S1 S5", 0},
	{7, `gameSessionProperties.difficulty <> 'novice'`, "S2 S3 S4", 0}, // D-225
	{8, `NOT gameSessionProperties.map='winter' AND hasAvailablePlayerSessions=true`, "S4", 0},
	{9, `NOT (gameSessionProperties.map='winter' AND hasAvailablePlayerSessions=true)`, "S2 S4 S5", 0},
	{10, `maximumSessions=12 OR maximumSessions=10 AND playerSessionCount<=3`, "S1 S3", 0},
	{11, `(maximumSessions=12 or maximumSessions=10) and not playerSessionCount<=3`, "S3 S5", 0}, // D-224
	{12, `creationTimeMillis>2000 AND creationTimeMillis<=4000`, "S3 S4", 0},
	{13, `maximumSessions > 1 AND hasAvailablePlayerSessions=true AND gameSessionProperties.map='winter'`, "S1 S3", 0},
	{14, `gameSessionId='S4' OR gameSessionId<>'S4' AND creationTimeMillis>=4999.5`, "S4 S5", 0},
	{15, `gameSessionProperties.level='10'`, "S3", 0},
	{16, `gameSessionName > 'a'`, "", 17},
	{17, `gameSessionProperties.level > 9`, "", 29},
	{18, `maximumSessions='10'`, "", 17},
	{19, `unknownField=1`, "", 1},
	{20, `hasAvailablePlayerSessions=TRUE`, "", 28},
	{21, `gameSessionProperties.a.b='1'`, "", 24},
	{22, `gameSessionName='abc`, "", 17},
	{23, `maximumSessions>=10 AND`, "", 24},
	{24, `gameSessionName = Matt`, "", 19},
	{25, `(maximumSessions>=10`, "", 21},
	{26, `maximumSessions == 10`, "", 18},
}

var sortVectors = []struct {
	n        int
	sort     string
	want     string
	position int
}{
	{27, `creationTimeMillis ASC`, "S1 S2 S3 S4 S5", 0},
	{28, `creationTimeMillis DESC`, "S5 S4 S3 S2 S1", 0},
	{29, `hasAvailablePlayerSessions`, "S2 S5 S1 S3 S4", 0},
	{30, `gameSessionProperties.level DESC`, "S5 S3 S1 S2 S4", 0},
	{31, `maximumSessions ASC`, "S4 S2 S1 S5 S3", 0},
	{32, `  maximumSessions  desc `, "S3 S1 S5 S2 S4", 0},
	{33, `maximumSessions ASC, playerSessionCount`, "", 17},
	{34, `gameSessionName ASC`, "S1 S5 S2 S3 S4", 0},
}

func refusedAt(t *testing.T, expression string, err error, position int) {
	t.Helper()
	var refused *Error
	if !errors.As(err, &refused) {
		t.Errorf("%s: got %v, want a refusal", expression, err)
	} else if refused.Position != position {
		t.Errorf("%s: %v, want character %d", expression, err, position)
	}
}

// API-55.
func TestFilterVectorsHold(t *testing.T) {
	for _, v := range filterVectors {
		f, err := ParseFilter(v.filter)
		if v.position > 0 {
			refusedAt(t, v.filter, err, v.position)
			continue
		}
		if err != nil {
			t.Errorf("%d: %v", v.n, err)
			continue
		}
		var got []string
		for _, g := range five() {
			if f.Matches(g, g.CurrentPlayers) {
				got = append(got, string(g.ID))
			}
		}
		if strings.Join(got, " ") != v.want {
			t.Errorf("%d: %s: got %v, want %s", v.n, v.filter, got, v.want)
		}
	}
}

// each yields game sessions in the way a host does: with the number of players as a separate value.
func each(all []*messages.GameSession) iter.Seq2[*messages.GameSession, int] {
	return func(yield func(*messages.GameSession, int) bool) {
		for _, g := range all {
			if !yield(g, g.CurrentPlayers) {
				return
			}
		}
	}
}

func ids(all []Found) string {
	var names []string
	for _, found := range all {
		names = append(names, string(found.ID))
	}
	return strings.Join(names, " ")
}

// API-55.
func TestSortVectorsHold(t *testing.T) {
	for _, v := range sortVectors {
		s, err := ParseSort(v.sort)
		if v.position > 0 {
			refusedAt(t, v.sort, err, v.position)
			continue
		}
		if err != nil {
			t.Errorf("%d: %v", v.n, err)
			continue
		}
		backwards := five()
		slices.Reverse(backwards)
		if got := ids(s.First(20, each(backwards), nil, nil)); got != v.want {
			t.Errorf("%d: %s: got %s, want %s", v.n, v.sort, got, v.want)
		}
	}
}

func TestErrorsSayWhatIsExpectedAtWhichCharacter(t *testing.T) {
	long := strings.Repeat("k", 33)
	for filter, want := range map[string]string{
		"":                                       "at character 1: expected a field, NOT or (, found the end",
		"  ":                                     "at character 3: expected a field, NOT or (, found the end",
		"maximumSessions":                        "at character 16: expected one of = <> < <= > >=, found the end",
		"maximumSessions>":                       "at character 17: expected a number, as maximumSessions has, found the end",
		"maximumSessions>1.":                     "at character 19: expected a digit, found the end",
		"maximumSessions>-":                      "at character 18: expected a digit, found the end",
		"maximumSessions>.5":                     `at character 17: expected a number, as maximumSessions has, found "."`,
		"maximumSessions>5x":                     `at character 18: expected AND, OR or the end, found "x"`,
		"maximumSessions != 5":                   `at character 17: expected one of = <> < <= > >=, found "!"`,
		"gameSessionName='ü' gameSessionName":    `at character 21: expected AND, OR or the end, found "gameSessionName"`,
		"gameSessionName=true":                   `at character 17: expected a string in quotes, as gameSessionName has, found "true"`,
		"gameSessionName='a\\":                   "at character 17: the string has no closing '",
		"hasAvailablePlayerSessions=1":           `at character 28: expected true or false, as hasAvailablePlayerSessions has, found "1"`,
		"hasAvailablePlayerSessions>true":        "at character 27: hasAvailablePlayerSessions is compared by = or <> only",
		"gameSessionProperties='1'":              `at character 22: expected . and the key of a game property, found "="`,
		"gameSessionProperties .a='1'":           `at character 23: expected . and the key of a game property, found "."`,
		"gameSessionProperties.='1'":             `at character 23: expected the key of a game property, found "="`,
		"gameSessionProperties." + long + "='1'": "at character 23: the key of a game property has at most 32 characters, this one 33",
		"()":                                     `at character 2: expected a field, NOT or (, found ")"`,
		"maximumSessions=1)":                     `at character 18: expected AND, OR or the end, found ")"`,
		"AND maximumSessions=1":                  `at character 1: "AND" is not a field`,
		"MaximumSessions=1":                      `at character 1: "MaximumSessions" is not a field`,
		strings.Repeat(" ", 1025):                "at character 1025: the expression has 1025 characters, at most 1024 are allowed",
	} {
		if _, err := ParseFilter(filter); err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", filter, err, want)
		}
	}
	for sort, want := range map[string]string{
		"":                         "at character 1: expected a field to sort by, found the end",
		"maximumSessions UP":       `at character 17: expected ASC, DESC or the end, found "UP"`,
		"maximumSessions ASC DESC": `at character 21: expected ASC, DESC or the end, found "DESC"`,
		"players":                  `at character 1: "players" is not a field`,
		strings.Repeat("x", 1025):  "at character 1025: the expression has 1025 characters, at most 1024 are allowed",
	} {
		if _, err := ParseSort(sort); err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", sort, err, want)
		}
	}
}

func TestUnusualFiltersThatAreAllowed(t *testing.T) {
	g := &messages.GameSession{ID: "S", Name: `a\"b'c`, MaxPlayers: 7, Properties: []messages.Property{{Key: "größe,[x]", Value: ""}}}
	for filter, want := range map[string]bool{
		`gameSessionName='a\\"b\'c'`:                                              true,
		`gameSessionName="a\\\"b'c"`:                                              true,
		`gameSessionName='\a\\\"b\'\c'`:                                           true,
		"gameSessionProperties.größe,[x]=''":                                      true,
		"gameSessionProperties.größe,[x]<>''":                                     false,
		"maximumSessions=7AND(maximumSessions=7)":                                 true, // no space is needed
		"\tmaximumSessions\n=\r7\u00a0":                                           true,
		"NOT NOT NOT maximumSessions=7":                                           false,
		"not(not(maximumSessions=7))":                                             true,
		"maximumSessions>-7.50 aNd maximumSessions<007.5":                         true,
		"maximumSessions<" + strings.Repeat("9", 900):                             true,
		"maximumSessions<-" + strings.Repeat("9", 900):                            false,
		strings.Repeat("(", 500) + "maximumSessions=7" + strings.Repeat(")", 500): true,
		strings.Repeat("NOT ", 250) + "maximumSessions=7":                         true,
		strings.Repeat("maximumSessions=8 OR ", 47) + "maximumSessions=7":         true,
	} {
		f, err := ParseFilter(filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
		} else if f.Matches(g, g.CurrentPlayers) != want {
			t.Errorf("%s: not %v", filter, want)
		}
	}
}

// Filters compare the creation time as the API shows it, which is rounded.
func TestFiltersCompareTheShownCreationTime(t *testing.T) {
	for us, shown := range map[int64]string{1000_499: "1000", 1000_500: "1001", 1000_999: "1001", 1001_000: "1001"} {
		g := &messages.GameSession{Created: time.UnixMicro(us)}
		for expression, want := range map[string]bool{"creationTimeMillis=" + shown: true, "creationTimeMillis<>" + shown: false, "creationTimeMillis<" + shown: false} {
			f, err := ParseFilter(expression)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Matches(g, 0); got != want {
				t.Errorf("%d us, %s: %v", us, expression, got)
			}
		}
	}
}
