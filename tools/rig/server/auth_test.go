//go:build unix

package server

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenStartsALimitableMongod(t *testing.T) {
	t.Parallel()
	const flag = "--setParameter featureFlagIngressRateLimiting=true"
	for version, flagged := range map[string]bool{"8.2.1": true, "8.3.0": false} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t).install("mongod", "mongod", fakeVersion+"="+version)
			m.Limitable, m.Choice = true, "path"
			server, err := Open(t.Context(), m.Config) // which logs in, as the fake checks
			require.NoError(t, err)
			started := started(m, "mongod")[1] // after --version
			assert.Equal(t, flagged, strings.Contains(started, flag), started)

			uri, err := url.Parse(server.URI)
			require.NoError(t, err)
			password, _ := uri.User.Password()
			assert.Equal(t, "root", uri.User.Username())
			assert.Len(t, password, 26)
			assert.NotContains(t, started, password, "every user of the machine can read it")
			calls := m.recorded("mongod")
			assert.Contains(t, calls[len(calls)-2], "replSetInitiate")
			assert.Contains(t, calls[len(calls)-1], `"createUser":"root"`)

			key := valueOf(strings.Fields(started), "--keyFile")
			info, err := os.Stat(key)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode(), "mongod refuses a key that others can read")
			text, err := os.ReadFile(key)
			require.NoError(t, err)
			assert.Regexp(t, `^[A-Za-z0-9+/]{52}$`, string(text), "from 6 to 1024 characters of base64, of a length that base64 can have")
			require.NoError(t, server.Close())
			requireEmpty(t, m.TempDir)
		})
	}
}

// A mongod that nobody asked to be limitable lets everybody do everything, as most tests want it.
func TestOpenStartsMongodWithoutUsers(t *testing.T) {
	t.Parallel()
	m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.1")
	server, err := Open(t.Context(), m.Config)
	require.NoError(t, err)
	defer server.Close()
	assert.NotContains(t, server.URI, "@")
	assert.NotContains(t, strings.Join(m.recorded("mongod"), "\n"), "createUser")
}
