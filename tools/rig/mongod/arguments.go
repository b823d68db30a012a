package mongod

import (
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	// oplogMegabytes and cacheGigabytes keep several members on a small machine.
	oplogMegabytes = 64
	cacheGigabytes = "0.25"
)

// arguments returns the member's command line.
func (m *Member) arguments() []string {
	o, files := m.deployment.options, m.deployment.files
	args := []string{
		"--dbpath", m.data(),
		"--bind_ip", loopbackHost,
		"--port", m.address[strings.LastIndex(m.address, ":")+1:],
		"--wiredTigerCacheSizeGB", cacheGigabytes,
		"--setParameter", "enableTestCommands=1",
		// Nothing uses these figures, and writing them takes time and space.
		"--setParameter", "diagnosticDataCollectionEnabled=false",
	}
	if runtime.GOOS != "windows" {
		// The socket would remain in the system's temporary directory.
		args = append(args, "--nounixsocket")
	}
	if !o.Standalone {
		args = append(args, "--replSet", o.ReplicaSet, "--oplogSize", strconv.Itoa(oplogMegabytes))
	}
	if o.TLS {
		args = append(args, "--tlsMode", "requireTLS", "--tlsCertificateKeyFile", files.Server, "--tlsCAFile", files.CA,
			"--tlsAllowConnectionsWithoutCertificates")
	}
	if o.Users {
		if o.Standalone {
			args = append(args, "--auth")
		} else {
			args = append(args, "--keyFile", files.key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		args = append(args, "--setParameter", name+"="+o.Parameters[name])
	}
	return append(args, o.Arguments...)
}
