package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

type recordKey struct {
	kind Kind
	id   string
}

// Kinds returns all kinds of records, sorted.
func Kinds() []Kind {
	return []Kind{Alias, Ban, Build, Compute, Content, Event, Fleet, GameSession, Location, Match, MatchedGame, Matchmaker, Placement, PlayerSession, Process, Queue, RuleSet, Script, Secret, Ticket, Trial}
}

// addDamaged adds records to s.damaged. A record in this list is copied to a file before it is overwritten.
func (s *SQLite) addDamaged(damaged []Damage) {
	if len(damaged) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged == nil {
		s.damaged = make(map[recordKey]bool)
	}
	for _, d := range damaged {
		s.damaged[recordKey{d.Kind, d.ID}] = true
	}
}

// damagedIn returns the keys of the damaged records that a batch overwrites or deletes.
func (s *SQLite) damagedIn(batch []commit) (keys []recordKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.damaged) == 0 {
		return nil
	}
	for i := range batch {
		for _, c := range batch[i].changes {
			if key := (recordKey{c.Kind, c.ID}); s.damaged[key] && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// keepDamaged copies the damaged records that a batch replaces to a file next to the store. It reads them in the
// transaction of the batch. It returns their keys.
func (s *SQLite) keepDamaged(ctx context.Context, batch []commit) ([]recordKey, error) {
	keys := s.damagedIn(batch)
	var all []damagedRecord
	for _, key := range keys {
		t := damagedRecord{Kind: key.kind, ID: key.id}
		err := s.writer.conn.QueryRowContext(ctx, "SELECT value, sum FROM records WHERE kind = ? AND id = ?", string(key.kind), key.id).Scan(&t.Value, &t.Sum)
		switch {
		case err == nil:
			all = append(all, t)
		case !errors.Is(err, sql.ErrNoRows):
			return nil, err
		}
	}
	if len(all) == 0 {
		return keys, nil
	}
	return keys, appendLines(s.path+DamagedSuffix, all)
}

// forgetDamaged removes keys from s.damaged, because the records have been overwritten or deleted.
func (s *SQLite) forgetDamaged(keys []recordKey) {
	if len(keys) == 0 {
		return
	}
	s.mu.Lock()
	for _, key := range keys {
		delete(s.damaged, key)
	}
	s.mu.Unlock()
	for _, key := range keys {
		s.log.Warn().Str("record", Damage{Kind: key.kind, ID: key.id}.Name()).Str("kept", s.path+DamagedSuffix).
			Msg("a damaged record has been replaced")
	}
}

// reportUnknown counts and logs the damaged records of unknown kinds. No owner loads these records. Their kinds are
// unknown because the kind itself is damaged.
func (s *SQLite) reportUnknown() error {
	ctx := context.Background()
	all, err := kinds(ctx, s.db)
	if err != nil {
		return err
	}
	for _, kind := range all {
		if slices.Contains(Kinds(), kind) {
			continue
		}
		damaged, err := load(ctx, s.db, s.path, kind, func(string, []byte) error { return nil })
		if err != nil {
			return err
		}
		s.count.StoreDamaged.Add(int64(len(damaged)))
		for _, d := range damaged {
			s.log.Error().Str("record", d.Name()).AnErr("error", d.Err).Msg("a stored record of an unknown kind cannot be used: see troupe store check")
		}
	}
	return nil
}
