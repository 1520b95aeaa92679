package messages

import "time"

// Compute is a machine that is registered with an ANYWHERE fleet, or a host with a fleet of its own processes (Host). Its
// server processes connect to this host. It is immutable.
type Compute struct {
	FleetID  FleetID
	Name     string // unique in its fleet
	Location string // one of the fleet's locations
	// IPAddress and DNSName are where players reach the compute. At least one of them is set.
	IPAddress, DNSName string
	CertificatePath    string // path on the compute, which processes ask for; the host does not read it
	// Host says that the compute is a host of Troupe, which starts the processes of a fleet with a Server itself.
	Host    bool `json:",omitempty"`
	Created time.Time
	Tokens  []ComputeToken `json:",omitempty"`
	Call    string         `json:",omitempty"` // see WithID
}

// ComputeToken is a token with which the processes of a compute may connect. Only its hash is stored.
type ComputeToken struct {
	SHA256  string // of the token, in hex
	Expires time.Time
}

// ComputeAuth is a token in the clear. It must not be logged.
type ComputeAuth struct {
	Token   string
	Expires time.Time
}

// RegisterCompute registers a compute. The error is Conflict if the fleet has a compute of this name, and LimitExceeded
// if there are too many computes.
type RegisterCompute struct {
	ToCatalog[*Compute]
	Compute Compute
}

// DeregisterCompute removes a compute and its tokens.
type DeregisterCompute struct {
	ToCatalog[None]
	FleetID FleetID
	Name    string
}

// ComputeQuery requests the computes of a fleet, sorted by time of registration. With a Name, it requests this compute
// only, and the error is NotFound if there is none.
type ComputeQuery struct {
	ToCatalog[[]*Compute]
	FleetID FleetID
	Name    string
}

// AuthorizeCompute requests a token for the processes of a compute. Requests within 15 minutes may get the same token. The
// error is InvalidRequest for a compute that is a host of Troupe, unless Host is set.
type AuthorizeCompute struct {
	ToCatalog[ComputeAuth]
	FleetID FleetID
	Name    string
	Host    bool `json:",omitempty"` // a host asks, for a process that is connected or that it starts
}
