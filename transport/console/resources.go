package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"troupe/messages"
)

type fleet struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Status       string          `json:"status"`
	ScriptID     string          `json:"scriptId"`
	BuildID      string          `json:"buildId"`
	LaunchPath   string          `json:"launchPath"`
	Certificates bool            `json:"certificates"`
	Created      *time.Time      `json:"created"`
	Locations    []fleetLocation `json:"locations"`
	Aliases      []string        `json:"aliases"`
}

type fleetLocation struct {
	Location     string `json:"location"`
	GroupsMin    int    `json:"groupsMin"`
	GroupsWanted int    `json:"groupsWanted"`
	GroupsMax    int    `json:"groupsMax"`
	GroupsActive int    `json:"groupsActive"`
	GroupsIdle   int    `json:"groupsIdle"`
	Processes    int    `json:"processes"`
	GameSessions int    `json:"gameSessions"`
	Players      int    `json:"players"`
	PlayersMax   int    `json:"playersMax"`
}

func (c *Console) fleets(w http.ResponseWriter, r *http.Request, _ query) *problem {
	records, err := messages.Do(r.Context(), c.o.Backend, messages.FleetQuery{})
	if err != nil {
		return refused(err)
	}
	aliases, err := messages.Do(r.Context(), c.o.Backend, messages.AliasQuery{})
	if err != nil {
		return refused(err)
	}
	uses := make(map[string][]messages.FleetUse) // location -> fleets
	all := []fleet{}
	for _, f := range records {
		shown := fleet{
			ID: string(f.ID), Name: f.Name, Status: f.Status.String(), ScriptID: string(f.ScriptID), BuildID: string(f.BuildID), LaunchPath: f.LaunchPath,
			Certificates: f.Certificates, Created: timeOf(f.Created), Locations: []fleetLocation{}, Aliases: []string{},
		}
		for _, a := range aliases {
			if a.FleetID == f.ID {
				shown.Aliases = append(shown.Aliases, string(a.ID))
			}
		}
		for _, location := range f.Locations {
			if _, asked := uses[location]; !asked {
				if uses[location], err = messages.Do(r.Context(), c.o.Backend, messages.FleetUseQuery{Location: location}); err != nil {
					return refused(err)
				}
			}
			i := slices.IndexFunc(uses[location], func(u messages.FleetUse) bool { return u.Fleet.ID == f.ID })
			if i < 0 {
				continue
			}
			u := uses[location][i]
			shown.Locations = append(shown.Locations, fleetLocation{
				Location: location, GroupsMin: u.Groups.Min, GroupsWanted: u.Groups.Desired, GroupsMax: u.Groups.Max, GroupsActive: u.Active,
				GroupsIdle: u.Idle, Processes: u.Processes, GameSessions: u.GameSessions, Players: u.Players, PlayersMax: u.PlayersMax,
			})
		}
		all = append(all, shown)
	}
	return answer(w, map[string][]fleet{"fleets": all})
}

type script struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	NodeVersion string     `json:"nodeVersion"`
	SizeBytes   int64      `json:"sizeBytes"`
	Contents    int        `json:"contents"` // number of versions that it has had
	Created     *time.Time `json:"created"`
}

func (c *Console) scripts(w http.ResponseWriter, r *http.Request, _ query) *problem {
	records, err := messages.Do(r.Context(), c.o.Backend, messages.ScriptQuery{})
	if err != nil {
		return refused(err)
	}
	all := shownAll(records, func(s *messages.Script) script {
		return script{string(s.ID), s.Name, s.Version, s.NodeVersion, s.Size, s.Contents, timeOf(s.Created)}
	})
	games, silent, p := active(r, c.o.Backend, "")
	if p != nil {
		return p
	}
	return answer(w, struct {
		Scripts     []script         `json:"scripts"`
		Running     []runningVersion `json:"running"`     // sorted by the newest game session, at most runningMax
		SilentNodes []string         `json:"silentNodes"` // nodes that did not answer; their game sessions are missing
	}{all, running(games), c.silentNodes(silent)})
}

// runningVersion is a version of a script, with the ACTIVE game sessions of a fleet that run it.
type runningVersion struct {
	FleetID       string    `json:"fleetId"`
	ScriptVersion string    `json:"scriptVersion"` // empty if the game sessions run no script
	GameSessions  int       `json:"gameSessions"`
	Players       int       `json:"players"`
	Newest        time.Time `json:"newest"` // creation time of the newest of these game sessions
}

const runningMax = 200

// running returns the versions that game sessions run. After an update, older game sessions keep their
// version.
func running(games []*messages.GameSession) []runningVersion {
	of := make(map[[2]string]*runningVersion)
	for _, g := range games {
		key := [2]string{string(g.FleetID), g.ScriptVersion}
		v := of[key]
		if v == nil {
			v = &runningVersion{FleetID: key[0], ScriptVersion: key[1]}
			of[key] = v
		}
		v.GameSessions++
		v.Players += g.CurrentPlayers
		if created := messages.Shown(g.Created).UTC(); created.After(v.Newest) {
			v.Newest = created
		}
	}
	all := []runningVersion{}
	for _, v := range of {
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b runningVersion) int {
		return cmp.Or(b.Newest.Compare(a.Newest), cmp.Compare(a.FleetID, b.FleetID), cmp.Compare(a.ScriptVersion, b.ScriptVersion))
	})
	return all[:min(len(all), runningMax)]
}

type queue struct {
	Name             string          `json:"name"`
	ARN              string          `json:"arn"`
	TimeoutSeconds   float64         `json:"timeoutSeconds"`
	Destinations     []string        `json:"destinations"`
	Policies         []latencyPolicy `json:"policies"`
	AllowedLocations []string        `json:"allowedLocations"` // null means all locations
	PriorityOrder    []string        `json:"priorityOrder"`
	LocationOrder    []string        `json:"locationOrder"`
	Notify           string          `json:"notify"`
	Created          *time.Time      `json:"created"`
}

type latencyPolicy struct {
	MaxMilliseconds int     `json:"maxMilliseconds"`
	Seconds         float64 `json:"seconds"` // 0 means until the queue's timeout
}

func (c *Console) queues(w http.ResponseWriter, r *http.Request, _ query) *problem {
	return answerList(c, w, r, messages.QueueQuery{}, "queues", func(q *messages.Queue) queue {
		return queue{
			Name: string(q.Name), ARN: q.ARN, TimeoutSeconds: q.Timeout.Seconds(), Destinations: list(q.Destinations),
			Policies:         shownAll(q.Policies, func(p messages.LatencyPolicy) latencyPolicy { return latencyPolicy{p.Max, p.Duration.Seconds()} }),
			AllowedLocations: q.AllowedLocations, PriorityOrder: shownAll(q.PriorityOrder, func(p messages.Priority) string { return string(p) }),
			LocationOrder: list(q.LocationOrder), Notify: q.Notify, Created: timeOf(q.Created),
		}
	})
}

// list never returns nil, which JSON would encode as null.
func list(all []string) []string { return append([]string{}, all...) }

type placement struct {
	ID            string     `json:"id"`
	Queue         string     `json:"queue"`
	Status        string     `json:"status"`
	Waits         string     `json:"waits"` // why it is waiting, or why it last waited; empty if it did not wait
	Players       int        `json:"players"`
	MaxPlayers    int        `json:"maxPlayers"`
	GameSessionID string     `json:"gameSessionId"`
	Location      string     `json:"location"`
	Node          string     `json:"node"` // that of the game session
	Started       *time.Time `json:"started"`
	Ended         *time.Time `json:"ended"`    // null while it is PENDING
	TimesOut      *time.Time `json:"timesOut"` // null after it has ended
}

func shownPlacement(p messages.PlacementState) placement {
	return placement{
		ID: string(p.Request.ID), Queue: string(p.Request.Queue), Status: p.Status.String(), Waits: p.Waits, Players: len(p.Request.Players),
		MaxPlayers: p.Request.MaxPlayers, GameSessionID: string(p.GameSessionID), Location: p.Location, Node: p.Node, Started: timeOf(p.Started), Ended: timeOf(p.Ended), TimesOut: timeOf(p.TimesOut),
	}
}

// placementStatuses are the values of the parameter status, in the order of messages.PlacementStatus.
var placementStatuses = []string{"any", "PENDING", "FULFILLED", "CANCELLED", "TIMED_OUT", "FAILED"}

func (c *Console) placements(w http.ResponseWriter, r *http.Request, q query) *problem {
	name := messages.QueueName(q.text("queue"))
	found, err := messages.Do(r.Context(), c.o.Backend, messages.PlacementList{
		Queue: name, Status: messages.PlacementStatus(slices.Index(placementStatuses, q.words["status"])), Limit: q.numbers["limit"],
	})
	if err != nil {
		return refused(err)
	}
	if len(found) == 0 && name != "" { // a queue may be deleted before its placements
		queues, err := messages.Do(r.Context(), c.o.Backend, messages.QueueQuery{})
		if err != nil {
			return refused(err)
		}
		if !slices.ContainsFunc(queues, func(one *messages.Queue) bool { return one.Name == name }) {
			return unknown("queue", string(name))
		}
	}
	return answer(w, map[string][]placement{"placements": shownAll(found, shownPlacement)})
}

// placement returns one placement and the reason why it waits.
func (c *Console) placement(w http.ResponseWriter, r *http.Request, q query) *problem {
	id := messages.PlacementID(q.text("id"))
	found, err := messages.Do(r.Context(), c.o.Backend, messages.PlacementList{ID: id, Limit: 1})
	if err != nil {
		return refused(err)
	}
	if len(found) == 0 { // placements of some age are not listed any more
		return answerAsked(c, w, r, messages.PlacementQuery{ID: id}, shownRecord)
	}
	return answer(w, shownPlacement(found[0]))
}

func (c *Console) cancelPlacement(w http.ResponseWriter, r *http.Request, q query) *problem {
	return answerAsked(c, w, r, messages.StopPlacement{ID: messages.PlacementID(q.text("id"))}, shownRecord)
}

// shownRecord converts a placement for which only the record is available.
func shownRecord(p *messages.Placement) placement {
	return shownPlacement(messages.PlacementState{Placement: p})
}
