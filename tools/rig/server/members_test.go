package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/rig/mongod"
)

func TestDriverTests(t *testing.T) {
	t.Parallel()
	set := Form{Topology: Topology{replicaSet, 3}}
	secured := set
	secured.TLS, secured.Users = true, true
	tests := map[string]struct {
		server Server
		want   []string
	}{
		"plain": {
			Server{URI: "mongodb://a:1,b:2/?replicaSet=rig", Form: set},
			[]string{"MONGODB_URI=mongodb://a:1,b:2/?replicaSet=rig"},
		},
		"secured": {
			Server{
				URI:   "mongodb://root:p@a:1,b:2/?replicaSet=rig&tls=true&tlsCAFile=%2Fca.pem&tlsCertificateKeyFile=%2Fclient.pem",
				Files: mongod.Files{CA: "/ca.pem", Client: "/client.pem", EncryptedClient: "/locked.pem"}, Form: secured,
			},
			[]string{
				"AUTH=auth", "SSL=ssl", "MONGO_GO_DRIVER_CA_FILE=/ca.pem", "MONGO_GO_DRIVER_KEY_FILE=/client.pem",
				"MONGO_GO_DRIVER_PKCS8_UNENCRYPTED_KEY_FILE=/client.pem", "MONGO_GO_DRIVER_PKCS8_ENCRYPTED_KEY_FILE=/locked.pem",
				"MONGODB_URI=mongodb://root:p@a:1,b:2/?replicaSet=rig",
			},
		},
	}
	for name, tt := range tests {
		env, err := tt.server.DriverTests()
		require.NoError(t, err, name)
		assert.Equal(t, tt.want, env, name)
	}
}
