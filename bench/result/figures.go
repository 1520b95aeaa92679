package result

// Figure describes how a value is displayed.
type Figure struct {
	Name   string
	Label  string
	Unit   string
	Digits int
	More   bool // higher values are better
}

// Catalogue lists all figures in the order of the table.
var Catalogue = []Figure{
	{"cpu_us", "CPU per delivered message", "us", 2, false},
	{"cpu_user_us", "  user", "us", 2, false},
	{"cpu_system_us", "  system", "us", 2, false},
	{"generator_us", "  of the generator, beside it", "us", 2, false},
	{"cpu_inbound_us", "CPU per inbound message", "us", 2, false},
	{"cpu_tick_us", "CPU per tick", "us", 1, false},
	{"cpu_join_us", "CPU per join", "us", 1, false},
	{"cpu_cores", "CPU, cores", "", 2, false},
	{"inbound_per_s", "inbound", "/s", 0, true},
	{"delivered_per_s", "delivered", "/s", 0, true},
	{"delivered_share", "delivered of expected", "", 4, true},
	{"ticks_share", "ticks that came", "", 4, true},
	{"gap_p50_ms", "time between ticks p50", "ms", 1, false},
	{"gap_p99_ms", "time between ticks p99", "ms", 1, false},
	{"gap_p999_ms", "time between ticks p99.9", "ms", 1, false},
	{"best_per_s", "largest load inside the limit", "/s", 0, true},
	{"half_p50_ms", "latency p50 at half of it", "ms", 2, false},
	{"best_kib_per_player", "memory per player there", "KiB", 1, false},
	{"p50_ms", "latency p50", "ms", 2, false},
	{"p99_ms", "latency p99", "ms", 2, false},
	{"p999_ms", "latency p99.9", "ms", 2, false},
	{"max_ms", "latency max", "ms", 2, false},
	{"allocs", "allocations per delivered", "", 4, false},
	{"allocs_inbound", "allocations per inbound", "", 4, false},
	{"switches", "context switches per delivered", "", 3, false},
	{"joins_per_s", "joins", "/s", 0, true},
	{"join_p50_ms", "join p50", "ms", 2, false},
	{"join_p99_ms", "join p99", "ms", 2, false},
	{"join_max_ms", "join max", "ms", 2, false},
	{"ready_per_s", "ready", "/s", 0, true},
	{"beats_per_s", "heartbeats", "/s", 0, true},
	{"resumes", "reconnects", "", 0, true},
	{"back_p50_ms", "time to reconnect p50", "ms", 2, false},
	{"back_p99_ms", "time to reconnect p99", "ms", 2, false},
	{"back_max_ms", "time to reconnect max", "ms", 2, false},
	{"back_s", "all back after", "s", 2, false},
	{"failed", "failed", "", 0, false},
	{"lost", "lost", "", 0, false},
	{"lost_out", "  to players who failed to come back", "", 0, false},
	{"sent", "messages of players", "", 0, true},
	{"replayed", "  sent again after a cut", "", 0, false},
	{"unsent", "  that could not be sent", "", 0, false},
	{"gaps", "gaps that the host told of", "", 0, false},
	{"duplicated", "duplicated", "", 0, false},
	{"kib_per_connection", "memory per connection", "KiB", 2, false},
	{"kib_peak", "  at its peak", "KiB", 2, false},
	{"sessions_per_s", "game sessions made", "/s", 0, true},
	{"kib_per_session", "memory per game session", "KiB", 1, false},
	{"goroutines", "goroutines per connection", "", 2, false},
	{"resident_mib", "resident", "MiB", 1, false},
	{"collections_per_s", "collections of garbage", "/s", 2, false},
	{"calls_per_s", "answered", "/s", 0, true},
	{"cpu_call_us", "CPU per call", "us", 1, false},
	{"answer_p99_ms", "answer p99", "ms", 2, false},
	{"pass_p50_ms", "a matchmaking pass p50", "ms", 1, false},
	{"pass_p99_ms", "a matchmaking pass p99", "ms", 1, false},
	{"matched_per_s", "tickets matched in each pass", "", 0, true},
	{"matched_us", "time per matched ticket", "us", 1, false},
	{"waiting", "tickets that wait after a pass", "", 0, false},
	{"passes_cut", "passes that ended at their budget", "", 0, false},
	{"start_s", "start", "s", 2, false},
	{"cpu_start_s", "CPU until then", "s", 2, false},
	{"store_mib", "store", "MiB", 1, false},
	{"etcd_cores", "CPU of etcd, cores", "", 2, false},
	{"generator_cores", "CPU of the nodes, cores", "", 2, false},
	{"etcd_mib", "database of etcd", "MiB", 1, false},
	{"leads_s", "another leads after", "s", 2, false},
	{"known_s", "known to be gone after", "s", 2, false},
	{"terminated_s", "TERMINATED everywhere after", "s", 2, false},
	{"placed_s", "next placement after", "s", 2, false},
	{"watch_p99_ms", "watch p99", "ms", 2, false},
	{"node_mib", "memory per node", "MiB", 2, false},
	{"directory_per_s", "transactions of the directory", "/s", 1, false},
	{"placement_per_s", "transactions of placements", "/s", 1, false},
	{"load_per_s", "transactions of loads", "/s", 1, false},
	{"renewals_per_s", "renewals of leases", "/s", 1, false},
	{"written_mib_per_s", "written to etcd", "MiB/s", 2, false},
	{"joined_s", "all nodes joined after", "s", 2, false},
	{"claims_per_s", "claims, as many as possible", "/s", 0, true},
	{"reaped_s", "lost game sessions ended after", "s", 2, false},
	{"live_s", "all live again after", "s", 2, false},
	{"rewritten_s", "directory written again after", "s", 2, false},
	{"hostile_sessions", "hostile game sessions", "", 0, false},
}

// figureOf returns the figure with a name. If the catalogue lacks it, the result has only the name as its label.
func figureOf(name string) Figure {
	for _, f := range Catalogue {
		if f.Name == name {
			return f
		}
	}
	return Figure{Name: name, Label: name, Digits: 2}
}
