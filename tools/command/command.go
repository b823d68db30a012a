// Package command starts the programs of this repository: it reads their command lines and turns their results into exit codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// Exit codes, as the programs' usage texts give them.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2 // of some programs: or the environment lacks something
)

// Main executes the process's command line until it ends or is interrupted, and ends the process.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Program is a program with a command line.
type Program struct {
	Name, Description string
	CLI               any                       // a pointer to the flags, arguments and commands, as kong takes them
	Options           []kong.Option             // further options of the parser
	Do                func(*kong.Context) error // executes the command line, which CLI holds by then
	// Failed prints the error of Do and returns the exit code. If it is nil, that is ExitFailed.
	Failed func(err error, stderr io.Writer) int
}

func (p Program) Run(args []string, stdout, stderr io.Writer) int {
	exited, code := false, ExitOK
	options := []kong.Option{
		kong.Name(p.Name), kong.Description(p.Description), kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { exited, code = true, n }),
	}
	parsed, err := kong.Must(p.CLI, append(options, p.Options...)...).Parse(args)
	if exited {
		return code
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v; see %[1]s --help\n", p.Name, err)
		return ExitUsage
	}
	if err = p.Do(parsed); err == nil {
		return ExitOK
	} else if p.Failed != nil {
		return p.Failed(err, stderr)
	}
	fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
	return ExitFailed
}

// Output runs a command in dir with env added to the environment, and returns its standard output. The error of a failed command has its
// standard error.
func Output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%s: %w: %s", strings.Join(append([]string{name}, args[:min(1, len(args))]...), " "), err, exit.Stderr)
	}
	return out, err
}

// Words are the arguments behind the "--" that ends a program's own.
func Words(args []string) []string {
	if len(args) > 1 && args[0] == "--" {
		return args[1:]
	}
	return args
}

// PassThrough runs a command, which may begin with "--", with our input and output, and with env added to our environment. The error of a
// failed command has its exit code.
func PassThrough(ctx context.Context, env, command []string) error {
	command = Words(command)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// Interrupt it as we were, and give it time: it may have children to stop.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // between the interrupt and the kill
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil // it ended as it was asked to, although Run returns an error
	}
	return fmt.Errorf("%s: %w", command[0], err)
}
