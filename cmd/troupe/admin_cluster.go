package main

import (
	"fmt"
	"path/filepath"

	"troupe/transport/peers"
)

// clusterCommand is troupe admin cluster. It needs no host.
type clusterCommand struct {
	Init clusterInitCommand `cmd:"" help:"Make the authority of a new cluster: ca.pem, which all nodes get, and ca.key, which signs for nodes and belongs on none of them."`
	Cert clusterCertCommand `cmd:"" help:"Make the certificate of a node: NODE.pem and NODE.key."`
}

type clusterInitCommand struct {
	Dir     string `arg:"" help:"Folder of the authority. It is made if it is missing."`
	Cluster string `required:"" placeholder:"NAME" help:"Name of the cluster, as in cluster.name."`
}

func (c *clusterInitCommand) Run(s streams) error {
	if err := peers.InitAuthority(c.Dir, c.Cluster); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s and ca.key are the authority of cluster %s for ten years. Keep ca.key where no node runs.\n", filepath.Join(c.Dir, "ca.pem"), c.Cluster)
	return err
}

type clusterCertCommand struct {
	Dir  string   `arg:"" help:"Folder of the authority, which the files are written to."`
	Node string   `arg:"" help:"Name of the node, as in cluster.node."`
	Host []string `placeholder:"NAME,IP" help:"DNS names and addresses for programs that look for them in a certificate, as etcd does. Nodes do not."`
}

func (c *clusterCertCommand) Run(s streams) error {
	if err := peers.Issue(c.Dir, c.Node, c.Host); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s and %s.key are for node %s, with ca.pem.\n", filepath.Join(c.Dir, c.Node+".pem"), c.Node, c.Node)
	return err
}
