package main

type benchCommand struct {
	Run  benchRun  `cmd:"" default:"withargs" help:"Run workloads."`
	List benchList `cmd:"" help:"List the workloads."`
	Page benchPage `cmd:"" name:"report" help:"Write the page with plots from stored results; two files are shown side by side."`

	Bare benchBare `cmd:"" hidden:"" help:"Serve as the bare relay that hosts are compared with."`
}
