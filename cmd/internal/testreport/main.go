// Testreport turns the output of go test -json into what go test prints. At its end it lists what was
// skipped and why, because a check that did not run must not look as if it had passed; and what took time: CPU and wall
// time by package, and the slowest tests, so that growth is seen. It exits with 1 if a test failed.
//
// With -exec, which is for go test -exec, it runs a test binary and says how much CPU it took.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "-exec" {
		os.Exit(execute(os.Args[2:]))
	}
	out := bufio.NewWriter(os.Stdout)
	failed, err := report(os.Stdin, out)
	out.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// execute runs a test binary, passes signals on to it, and prints the CPU time of it and of the children that it waited for.
func execute(args []string) (code int) {
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	err := c.Start()
	if err == nil {
		go func() {
			for s := range signals {
				_ = c.Process.Signal(s)
			}
		}()
		err = c.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		return 1
	}
	fmt.Printf("%s%.2f\n", cpuPrefix, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds())
	return max(c.ProcessState.ExitCode(), min(1, -c.ProcessState.ExitCode()))
}
