package server

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMembersBinaryIsNoneWhereAnotherServerIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"a given server":   {map[string]string{"MONGODB_URI": "mongodb://h"}, "MONGODB_URI names a server"},
		"named as given":   {map[string]string{"SERVER": "uri", "MONGODB_URI": "mongodb://h"}, "SERVER=uri"},
		"SecantusDB":       {map[string]string{"SERVER": "secantus"}, "SERVER=secantus"},
		"none on the PATH": {map[string]string{"SERVER": "path", "MONGODB_URI": "mongodb://h"}, "no mongod on the PATH"},
	} {
		_, err := MembersBinary(t.Context(), Config{
			Root:     t.TempDir(),
			Getenv:   func(name string) string { return test.env[name] },
			LookPath: func(string) (string, error) { return "", errors.New("nothing is on the PATH") },
		})
		assert.ErrorIs(t, err, ErrUnavailable, name)
		assert.ErrorContains(t, err, test.want, name)
	}
}
