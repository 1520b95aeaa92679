package cluster

import (
	"context"
	"time"

	"troupe/messages/coord"
)

const (
	schemaAfter = time.Hour   // how long all registered nodes must have supported a schema before the records may have it
	schemaEvery = time.Minute // interval at which the leader looks at the registrations
)

// raiseSchema raises the schema of the cluster's records, in a term of this node, to one that all registered nodes have
// supported for schemaAfter. Until then a node of an older version may join, so that an upgrade can be taken back.
func (n *Node) raiseSchema(ctx context.Context, term int64) {
	for supported, since := 0, time.Now(); Sleep(ctx, schemaEvery); {
		found, err := n.read(ctx, coord.Query{Key: n.keys.Nodes(), Prefix: true})
		if err != nil {
			continue
		}
		if now := supportedSchema(n.o.Self, found.KVs); now != supported {
			supported, since = now, time.Now()
		}
		if meta := n.meta.Load(); supported > meta.Schema && time.Since(since) >= schemaAfter {
			n.putSchema(ctx, term, supported, found.At)
		}
	}
}

// supportedSchema returns the highest schema that all nodes support. A registration in an unknown form supports none.
func supportedSchema(self coord.Node, registrations []coord.KV) int {
	most := self.Schema.High
	for _, kv := range registrations {
		other, _ := coord.DecodeNode(kv)
		most = min(most, other.Schema.High)
	}
	return most
}

// putSchema makes one attempt to raise the schema. It fails if a node has registered after the revision at. A node that
// registers later has read the new schema (see Node.register).
func (n *Node) putSchema(ctx context.Context, term int64, schema int, at int64) {
	key, known := n.keys.Meta(), n.meta.Load()
	raised := known.Meta
	raised.Schema = schema
	done, _, err := n.commit(ctx, []coord.Condition{
		coord.Incarnation(n.keys.Lead(), term), coord.Unchanged(key, known.changed), coord.UnchangedBelow(n.keys.Nodes(), at),
	}, coord.Put(key, coord.Encode(raised)))
	if err == nil && done {
		n.o.Log.Info().Int("schema", schema).Msg("the records of the cluster have a new schema: nodes of older versions cannot join any longer")
	}
	_ = n.checkMeta(ctx) // another attempt follows if it fails
}
