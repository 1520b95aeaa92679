package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"troupe/cmd/internal/config"
)

const clusterDocs = "../../docs/cluster"

// clusterManifest holds the fields of Kubernetes objects that the test of the cluster's manifests reads.
type clusterManifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		ServiceName    string `yaml:"serviceName"`
		ClusterIP      string `yaml:"clusterIP"`
		Unready        bool   `yaml:"publishNotReadyAddresses"`
		MaxUnavailable int    `yaml:"maxUnavailable"`
		Replicas       int
		Policy         string `yaml:"podManagementPolicy"`
		Template       struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args []string
					Env  []struct {
						Name, Value string
						From        struct {
							Field struct {
								Path string `yaml:"fieldPath"`
							} `yaml:"fieldRef"`
						} `yaml:"valueFrom"`
					}
					Ports []struct {
						Name      string
						Container int `yaml:"containerPort"`
						Host      int `yaml:"hostPort"`
					}
					Ready  probe   `yaml:"readinessProbe"`
					Alive  probe   `yaml:"livenessProbe"`
					Mounts []mount `yaml:"volumeMounts"`
				}
			}
		}
	}
}

type mount struct {
	Path string `yaml:"mountPath"`
}

// clusterManifests returns the manifests of docs/cluster by kind and name.
func clusterManifests(t *testing.T) map[string]clusterManifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(clusterDocs, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]clusterManifest)
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m clusterManifest
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[m.Kind+" "+m.Metadata.Name] = m
	}
}

// environ returns the variables of the only container, as Kubernetes would set them in a pod.
func (m clusterManifest) environ(pod string) (environ []string, expand func(string) string) {
	variables := map[string]string{}
	expand = func(text string) string {
		return regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(text, func(name string) string { return variables[name[2:len(name)-1]] })
	}
	fields := map[string]string{"metadata.name": pod, "status.podIP": "10.1.2.3", "status.hostIP": "192.0.2.7", "": "0123456789012345678901234567890123456789"}
	for _, e := range m.Spec.Template.Spec.Containers[0].Env {
		if variables[e.Name] = expand(e.Value); e.Value == "" {
			variables[e.Name] = fields[e.From.Field.Path]
		}
		environ = append(environ, e.Name+"="+variables[e.Name])
	}
	return environ, expand
}

// memberOf parses the arguments of a container that runs a member of etcd.
func memberOf(t *testing.T, args []string) etcdMemberCommand {
	t.Helper()
	var c commands
	parser, err := kong.New(&c, kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard), kong.Bind(streams{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	if _, err := c.Etcd.Member.options(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return c.Etcd.Member
}

// The manifests of the cluster fit the host and the member of etcd: keys, flags, ports, probes, and the names by which
// the pods find each other (CL-38).
func TestKubernetesManifestsOfTheCluster(t *testing.T) {
	all := clusterManifests(t)
	hosts, members := all["StatefulSet troupe"], all["StatefulSet troupe-etcd"]
	if hosts.Spec.Replicas != 3 || members.Spec.Replicas != 3 || len(hosts.Spec.Template.Spec.Containers) != 1 || len(members.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%+v\n%+v", hosts, members)
	}
	var endpoints []string
	peers := map[string]string{}
	for i := range members.Spec.Replicas {
		pod := fmt.Sprint("troupe-etcd-", i)
		endpoints = append(endpoints, "https://"+pod+"."+members.Spec.ServiceName+":2379")
		peers[pod] = "https://" + pod + "." + members.Spec.ServiceName + ":2380"
		_, expand := members.environ(pod)
		var args []string
		for _, a := range members.Spec.Template.Spec.Containers[0].Args {
			args = append(args, expand(a))
		}
		m := memberOf(t, args)
		want := etcdTLS{CA: "/keys/ca.pem", Cert: "/keys/" + pod + ".pem", Key: "/keys/" + pod + ".key"}
		if m.Name != pod || m.Listen != "https://10.1.2.3:2379" || m.PeerListen != "https://10.1.2.3:2380" || m.Dir != "/data/etcd" || m.etcdTLS != want {
			t.Errorf("%+v", m)
		}
		if len(peers) == members.Spec.Replicas && !maps.Equal(m.Peer, peers) {
			t.Errorf("--peer: %v", m.Peer)
		}
	}
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	if err := os.WriteFile(file, []byte(all["ConfigMap troupe"].Data["troupe.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	environ, _ := hosts.environ("troupe-1")
	c, err := config.Load(config.Sources{Defaults: serveDefaults(), File: file, Environ: append(environ, strings.Fields(dockerfile(t)["ENV"][0])...)})
	if err != nil {
		t.Fatal(err)
	}
	pod := hosts.Spec.Template.Spec
	if k := c.Cluster; k.Node != "" || !slices.Equal(k.Etcd.Endpoints, endpoints) || k.Peers.Advertise != "troupe-1."+hosts.Spec.ServiceName+":33480" ||
		k.Peers.Cert != "/keys/troupe-1.pem" || k.Peers.Key != "/keys/troupe-1.key" || k.Etcd.Cert != k.Peers.Cert || k.Etcd.Key != k.Peers.Key || c.Public.IP != "192.0.2.7" {
		t.Errorf("%+v", k)
	}
	if grace := time.Duration(pod.Grace) * time.Second; grace < c.Drain.Grace+15*time.Second {
		t.Errorf("the pod is killed after %v, a drain may take %v", grace, c.Drain.Grace)
	}
	open := map[string]int{}
	for _, p := range pod.Containers[0].Ports {
		open[p.Name] = p.Container
		if players := p.Name == "websocket" || p.Name == "fast"; players != (p.Host == p.Container) {
			t.Errorf("port %s is %d on the machine", p.Name, p.Host)
		}
	}
	for name, addr := range map[string]string{"api": c.API.Addr, "peers": c.Cluster.Peers.Addr, "websocket": c.WebSocket.Addr, "fast": c.Fast.Addr} {
		if !strings.HasSuffix(addr, fmt.Sprint(":", open[name])) {
			t.Errorf("port %s is %d, and the host listens on %s", name, open[name], addr)
		}
	}
	if host := pod.Containers[0]; host.Ready.Get.Path != "/readyz" || host.Alive.Get.Path != "/healthz" {
		t.Errorf("%+v", host)
	}
	for _, m := range []clusterManifest{hosts, members} { // pods that start find each other by name, and one at a time may be away
		names, budget := all["Service "+m.Spec.ServiceName].Spec, all["PodDisruptionBudget "+m.Metadata.Name].Spec
		if names.ClusterIP != "None" || !names.Unready || budget.MaxUnavailable != 1 || m.Spec.Policy != "Parallel" {
			t.Errorf("%s: %+v, %+v", m.Metadata.Name, names, budget)
		}
		if !slices.ContainsFunc(m.Spec.Template.Spec.Containers[0].Mounts, func(v mount) bool { return v.Path == "/keys" }) {
			t.Errorf("%s has no keys", m.Metadata.Name)
		}
	}
}

// The units of the cluster run commands that exist, and systemd accepts them (CL-38).
func TestUnitsOfTheCluster(t *testing.T) {
	parser, err := newParser(streams{out: io.Discard, err: io.Discard}, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	alone := regexp.MustCompile(`(?m)^#   ETCD_FLAGS=(.*)$`)
	for name, runs := range map[string]int{"troupe.service": 2, "troupe-etcd.service": 1} {
		text, err := os.ReadFile(filepath.Join(clusterDocs, name))
		if err != nil {
			t.Fatal(err)
		}
		flags := ""
		if found := alone.FindSubmatch(text); found != nil {
			flags = string(found[1])
		}
		lines := regexp.MustCompile(`(?m)^ExecStart(?:Pre)?=/usr/local/bin/troupe (.*)$`).FindAllStringSubmatch(string(text), -1)
		if len(lines) != runs {
			t.Errorf("%s: %q", name, lines)
		}
		for _, line := range lines {
			args := strings.Fields(strings.ReplaceAll(line[1], "$ETCD_FLAGS", flags))
			if _, err := parser.Parse(args); err != nil && !strings.Contains(err.Error(), "no such file") { // the configuration is not here
				t.Errorf("%s: %q: %v", name, args, err)
			}
		}
		analyze, err := exec.LookPath("systemd-analyze")
		if err != nil {
			continue
		}
		unit := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/local/bin/troupe"), []byte("/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, name) {
				t.Errorf("systemd-analyze: %s", line)
			}
		}
		if err != nil && len(out) == 0 {
			t.Errorf("systemd-analyze: %v", err)
		}
	}
}
