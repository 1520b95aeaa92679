package host

import (
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/actors/matchmaker"
	"troupe/messages"
	"troupe/messages/lazy"
)

// Matchmaking has the rule sets and matchmaking configurations that exist from the start. If the store has
// one of the same name, that takes precedence.
type Matchmaking struct {
	// PassInterval is the interval between two searches for matches, from 50ms to 10s. With 0, it is 1s.
	PassInterval   time.Duration        `config:"passInterval"`
	RuleSets       []MatchmakingRules   `config:"ruleSets" level:"common"`
	Configurations []MatchmakingSetting `config:"configurations" level:"common"`
}

// MatchmakingRules is a rule set, given by File or by Body.
type MatchmakingRules struct {
	Name string `config:"name"` // name of letters, digits, hyphens and dots
	File string `config:"file"` // path of a JSON file in the rule set language
	Body string `config:"body"` // JSON text of the rule set, instead of a file
}

// MatchmakingSetting is a matchmaking configuration, with the settings of the service API (service-api.md 2.10).
type MatchmakingSetting struct {
	Name    string `config:"name"`    // name of letters, digits, hyphens and dots
	RuleSet string `config:"ruleSet"` // name of a rule set
	// Queue is the queue that places the matches. If it is empty, the configuration is STANDALONE: players
	// are only told about their match.
	Queue              string        `config:"queue"`
	RequestTimeout     time.Duration `config:"requestTimeout"`     // how long a ticket may search, from 1s to 43200s
	AcceptanceRequired bool          `config:"acceptanceRequired"` // whether players must accept a match
	AcceptanceTimeout  time.Duration `config:"acceptanceTimeout"`  // how long players may take to accept, from 1s to 600s; 0: 60s
	AdditionalPlayers  int           `config:"additionalPlayers"`  // number of slots that a match leaves free
	// AutoBackfill is whether free slots of running game sessions are filled automatically (BackfillMode
	// AUTOMATIC).
	AutoBackfill       bool   `config:"autoBackfill"`
	CustomEventData    string `config:"customEventData"`    // text in each event
	NotificationTarget string `config:"notificationTarget"` // ARN of a topic, matched by the targets of event sinks
}

// ruleFileMax is the maximum size of a rule set file in bytes: 65,535 characters of at most 4 bytes each.
const ruleFileMax = 4 * 65535

var matchNameForm = lazy.Regexp(`\A[a-zA-Z0-9.-]{1,128}\z`)

func (v *checks) matchmaking(c *Config) {
	m := &c.Matchmaking
	v.that("matchmaking.passInterval", m.PassInterval == 0 || m.PassInterval >= 50*time.Millisecond && m.PassInterval <= 10*time.Second, "must be 50ms to 10s")
	names := map[string]bool{}
	for i, r := range m.RuleSets {
		key := fmt.Sprintf("matchmaking.ruleSets[%d]", i)
		v.that(key+".name", matchNameForm().MatchString(r.Name), "must be 1 to 128 letters, digits, hyphens and dots")
		v.once(names, key+".name", r.Name)
		v.that(key, (r.File == "") != (r.Body == ""), "must have a file or a body")
	}
	clear(names)
	for i, k := range m.Configurations {
		key := fmt.Sprintf("matchmaking.configurations[%d]", i)
		v.that(key+".name", matchNameForm().MatchString(k.Name), "must be 1 to 128 letters, digits, hyphens and dots")
		v.once(names, key+".name", k.Name)
		v.that(key+".ruleSet", k.RuleSet != "", "must name a rule set")
		v.that(key+".queue", k.Queue == "" || queueForm().MatchString(k.Queue), "must be the name of a queue")
		v.that(key+".requestTimeout", wholeSeconds(k.RequestTimeout, 1, 43200), "must be 1s to 43200s, in whole seconds")
		v.that(key+".acceptanceTimeout", wholeSeconds(k.AcceptanceTimeout, 0, 600), "must be 0s to 600s, in whole seconds")
		v.that(key+".additionalPlayers", k.AdditionalPlayers >= 0 && k.AdditionalPlayers <= 200, "must be 0 to 200")
		v.that(key+".autoBackfill", !k.AutoBackfill || k.Queue != "", "needs a queue")
		v.that(key+".customEventData", len(k.CustomEventData) <= 256, "may have 256 bytes")
		v.that(key+".notificationTarget", targetForm().MatchString(k.NotificationTarget), "must be letters, digits, colons, hyphens and underscores")
	}
}

func wholeSeconds(d time.Duration, least, most int) bool {
	return d >= time.Duration(least)*time.Second && d <= time.Duration(most)*time.Second && d%time.Second == 0
}

// matchmaking returns the options of package matchmaker. It reads the rule set files.
func (c *Config) matchmaking(now time.Time) (matchmaker.Options, error) {
	o := matchmaker.Options{Region: c.Region, Account: c.Account, Interval: c.Matchmaking.PassInterval}
	for i, r := range c.Matchmaking.RuleSets {
		body, err := r.text()
		if err != nil {
			return o, fmt.Errorf("host: matchmaking.ruleSets[%d].file: %w", i, err)
		}
		o.RuleSets = append(o.RuleSets, &messages.RuleSet{Name: messages.RuleSetName(r.Name), Body: body, Created: now})
	}
	for _, k := range c.Matchmaking.Configurations {
		record := &messages.Matchmaker{
			Name: messages.MatchmakerName(k.Name), RuleSet: messages.RuleSetName(k.RuleSet), Standalone: k.Queue == "", RequestTimeout: k.RequestTimeout,
			AcceptanceRequired: k.AcceptanceRequired, AcceptanceTimeout: k.AcceptanceTimeout, AdditionalPlayers: k.AdditionalPlayers,
			AutoBackfill:    k.AutoBackfill,
			CustomEventData: k.CustomEventData, Notify: k.NotificationTarget, Created: now,
		}
		if k.Queue != "" {
			record.Queues = []messages.QueueName{messages.QueueName(k.Queue)}
			record.QueueARNs = []string{fmt.Sprintf("arn:aws:gamelift:%s:%s:gamesessionqueue/%s", c.Region, c.Account, k.Queue)}
		}
		o.Matchmakers = append(o.Matchmakers, record)
	}
	return o, nil
}

func (r *MatchmakingRules) text() (string, error) {
	if r.File == "" {
		return r.Body, nil
	}
	info, err := os.Stat(r.File)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > ruleFileMax {
		return "", errors.New("is no file of at most 65,535 characters")
	}
	text, err := os.ReadFile(r.File)
	return string(text), err
}

// defaultMatchmaking returns a matchmaking configuration on the default queue. It matches any two players.
func defaultMatchmaking() Matchmaking {
	return Matchmaking{
		RuleSets: []MatchmakingRules{{
			Name: "rules-dev", Body: `{"name":"two players","ruleLanguageVersion":"1.0","teams":[{"name":"players","minPlayers":2,"maxPlayers":2}]}`,
		}},
		Configurations: []MatchmakingSetting{{Name: "match-dev", RuleSet: "rules-dev", Queue: "queue-dev", RequestTimeout: 120 * time.Second}},
	}
}
