package server

import (
	"context"
	"os"
	"path/filepath"
)

// secantusReplicaSet is SecantusDB's name for itself.
const secantusReplicaSet = "secantus"

// openSecantus starts SecantusDB, and installs it if necessary.
func openSecantus(ctx context.Context, cfg Config) (*Server, error) {
	env, err := ensureVenv(ctx, cfg)
	if err != nil {
		return nil, absent(err)
	}
	return start(ctx, cfg, launch{
		origin:     SecantusDB,
		replicaSet: secantusReplicaSet,
		command: func(dir, port string) (command, error) {
			// With an empty configuration it does not search for one.
			settings := filepath.Join(dir, "secantusd.toml")
			if err := os.WriteFile(settings, nil, 0o600); err != nil {
				return command{}, err
			}
			return command{
				path: env.executable("secantusd-py"),
				args: []string{
					"--config", settings,
					"--host", "127.0.0.1",
					"--port", port,
					"--storage-path", ":memory:",
					"--enable-test-commands",
				},
				// It stores its data in a temporary directory.
				env: append(privateTemp(dir), isolatedPython...),
			}, nil
		},
	})
}

// privateTemp makes dir a program's directory for temporary files.
func privateTemp(dir string) []string {
	return []string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}
}
