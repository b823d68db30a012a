package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCheckGiven(t *testing.T) {
	t.Parallel()
	tests := []struct {
		uri             string
		direct, withLab string // what the error says, if there is one
	}{
		{"mongodb://localhost:27017/?replicaSet=rs0", "", ""},
		{"garbage", "MONGODB_URI is no connection string such as mongodb://127.0.0.1:27017/", "MONGODB_URI is no connection string"},
		{"mongodb://localhost/?loadBalanced=maybe", "MONGODB_URI is no connection string", "MONGODB_URI is no connection string"},
		{"mongodb://a,b/?replicaSet=rs0", "", "MONGODB_URI names 2 hosts; for the lab, which stands before the server, name one host and no credentials"},
		{"mongodb://root:secret@localhost/", "", "MONGODB_URI has credentials; for the lab, which stands before the server, name one host and no credentials"},
	}
	for _, tt := range tests {
		for behindLab, want := range map[bool]string{false: tt.direct, true: tt.withLab} {
			err := checkGiven(tt.uri, behindLab)
			if want == "" {
				assert.NoError(t, err, tt.uri)
				continue
			}
			assert.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "secret")
		}
	}
}
