//go:build unix

package server

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The settings of a fake program, which is this test binary started with fakeRole
// in its environment.
const (
	fakeRole    = "SERVER_TEST_ROLE"
	fakeSelf    = "SERVER_TEST_SELF" // its own path
	fakeVersion = "SERVER_TEST_VERSION"
	fakeFault   = "SERVER_TEST_FAULT"
	fakeCalls   = "SERVER_TEST_CALLS" // a file that gets a line for every call
	fakeAlive   = "SERVER_TEST_ALIVE" // an address that it stays connected to for as long as it lives
)

func TestMain(m *testing.M) {
	role := os.Getenv(fakeRole)
	if role == "" {
		os.Exit(m.Run())
	}
	record(strings.Join(os.Args[1:], " "))
	connection := holdConnection()
	if err := play(role, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	runtime.KeepAlive(connection)
}

// record writes down what this program was asked to do.
func record(call string) {
	path := os.Getenv(fakeCalls)
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(file, os.Getenv(fakeRole), call)
	file.Close()
}

func holdConnection() net.Conn {
	address := os.Getenv(fakeAlive)
	if address == "" {
		return nil
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(connection, os.Getpid())
	return connection
}

func play(role string, args []string) error {
	switch role {
	case "mongod":
		if args[0] == "--version" {
			fmt.Printf("db version v%s\nBuild Info: {}\n", os.Getenv(fakeVersion))
			return nil
		}
		name := valueOf(args, "--replSet")
		return playServer(args, &fakeServer{replicaSet: name}, name == "")
	case "mongos":
		return playServer(args, &fakeServer{router: true}, true)
	case "secantus":
		return playServer(args, &fakeServer{replicaSet: secantusReplicaSet}, true)
	case "python":
		return playPython(args)
	case "owner":
		return playOwner(args)
	case "sleeper":
		select {}
	}
	return fmt.Errorf("no role %q", role)
}

// playServer is a server with one of the faults that servers have.
func playServer(args []string, fake *fakeServer, initiated bool) error {
	switch os.Getenv(fakeFault) {
	case "dies":
		return fmt.Errorf("the data directory is on fire")
	case "deaf":
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "parent":
		if err := startSleeper(); err != nil {
			return err
		}
	}
	address := "127.0.0.1:" + valueOf(args, "--port")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fake.address, fake.version, fake.configured = address, os.Getenv(fakeVersion), record
	fake.initiated.Store(initiated)
	fake.serve(listener)
	return nil
}

func startSleeper() error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fakeRole+"=sleeper")
	return cmd.Start()
}

// playPython is a Python with the modules venv and pip.
func playPython(args []string) error {
	switch fault := os.Getenv(fakeFault); {
	case args[0] == "-c" && fault == "broken":
		return fmt.Errorf("command not found")
	case args[0] == "-c":
		fmt.Println(os.Getenv(fakeVersion))
	case args[1] == "venv":
		bin := filepath.Join(args[2], "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			return err
		}
		return writeFake(filepath.Join(bin, "python"), "python", inherited()...)
	case args[1] == "pip" && fault == "offline":
		fmt.Println("WARNING: Retrying\nERROR: No matching distribution found for numpy\nbye")
		return fmt.Errorf("exit")
	case args[1] == "pip" && fault == "forged":
		fmt.Println("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n    Expected sha256 f07a\n         Got        0000")
		return fmt.Errorf("exit")
	case args[1] == "pip" && fault == "full":
		fmt.Println("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device")
		return fmt.Errorf("exit")
	case args[1] == "pip" && filepath.Base(args[len(args)-1]) == "mongod.txt":
		return installFakeWheel(filepath.Dir(filepath.Dir(os.Getenv(fakeSelf))), fault)
	case args[1] == "pip":
		bin := filepath.Dir(os.Getenv(fakeSelf))
		return writeFake(filepath.Join(bin, "secantusd-py"), "secantus", inherited()...)
	}
	return nil
}

// installFakeWheel puts a mongod where the wheel has it.
func installFakeWheel(env, fault string) error {
	bin := filepath.Join(env, "lib", "python3.12", "site-packages", "fiftyone", "db", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	switch path := filepath.Join(bin, "mongod"); fault {
	case "empty":
		return nil
	case "unlinked":
		return os.WriteFile(path, []byte("#!/bin/sh\necho 'libssl.so.3: cannot open'; exit 127\n"), 0o600)
	default:
		return writeFake(path, "mongod", inherited()...)
	}
}

// inherited returns the settings that a fake program hands on to one it installs.
func inherited() []string {
	var settings []string
	for _, name := range []string{fakeVersion, fakeFault, fakeCalls, fakeAlive} {
		settings = append(settings, name+"="+os.Getenv(name))
	}
	return settings
}

// playOwner is a process that starts a child and waits to be killed.
func playOwner(args []string) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := startChild(args[0], command{path: executable, env: []string{fakeRole + "=sleeper"}}); err != nil {
		return err
	}
	select {}
}

func valueOf(args []string, flag string) string {
	for i, arg := range args {
		if arg == flag {
			return args[i+1]
		}
	}
	return ""
}

// writeFake writes a program that plays a role.
func writeFake(path, role string, settings ...string) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	script := "#!/bin/sh\n"
	for _, setting := range append(settings, fakeRole+"="+role, fakeSelf+"="+path) {
		name, value, _ := strings.Cut(setting, "=")
		script += fmt.Sprintf("%s='%s'; export %s\n", name, value, name)
	}
	script += fmt.Sprintf("exec '%s' \"$@\"\n", executable)
	// A child that another test starts meanwhile would hold the file open for writing, and nobody could execute it.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(script), 0o755)
}

// machine is what a test's server is looked for on.
type machine struct {
	t     *testing.T
	bin   string
	env   map[string]string
	calls string
	Config
}

// newMachine returns a machine with nothing on its PATH.
func newMachine(t *testing.T) *machine {
	t.Helper()
	root, bin := t.TempDir(), t.TempDir()
	pins := filepath.Join(root, "etc", "server")
	require.NoError(t, os.MkdirAll(pins, 0o755))
	for _, name := range []string{"requirements.txt", "mongod.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(pins, name), []byte("pins of "+name+"\n"), 0o644))
	}
	m := &machine{t: t, bin: bin, env: map[string]string{}, calls: filepath.Join(t.TempDir(), "calls")}
	m.Config = Config{
		Root:   root,
		Getenv: func(name string) string { return m.env[name] },
		LookPath: func(name string) (string, error) {
			path := filepath.Join(bin, name)
			_, err := os.Stat(path)
			return path, err
		},
		TempDir:  t.TempDir(),
		Platform: "another/system", // so that there is no wheel
	}
	return m
}

// install puts a fake program on the PATH.
func (m *machine) install(name, role string, settings ...string) *machine {
	m.t.Helper()
	settings = append(settings, fakeCalls+"="+m.calls)
	require.NoError(m.t, writeFake(filepath.Join(m.bin, name), role, settings...))
	return m
}

// recorded returns the calls of a role.
func (m *machine) recorded(role string) []string {
	m.t.Helper()
	content, err := os.ReadFile(m.calls)
	if !os.IsNotExist(err) {
		require.NoError(m.t, err)
	}
	var calls []string
	for line := range strings.Lines(string(content)) {
		if call, ok := strings.CutPrefix(strings.TrimSpace(line), role+" "); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

// lifeline tells when processes end.
type lifeline struct{ listener net.Listener }

func newLifeline(t *testing.T) lifeline {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return lifeline{listener}
}

func (l lifeline) setting() string { return fakeAlive + "=" + l.listener.Addr().String() }

// process waits for the next process to start.
func (l lifeline) process(t *testing.T) net.Conn {
	t.Helper()
	connection, err := l.listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	var pid int
	_, err = fmt.Fscanln(connection, &pid)
	require.NoError(t, err)
	return connection
}

// requireEnd waits for the end of a process, which closes its connection.
func requireEnd(t *testing.T, process net.Conn) {
	t.Helper()
	require.NoError(t, process.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err := process.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the process goes on")
}
