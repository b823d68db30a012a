package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// challengeAfter returns the first message of a server that asks for so many iterations.
func challengeAfter(t *testing.T, client SaslClient, iterations string) []byte {
	_, first, err := client.Start()
	require.NoError(t, err)
	nonce := first[strings.Index(string(first), "r=")+len("r="):]
	return []byte(fmt.Sprintf("r=%sserver,s=c2FsdHNhbHQ=,i=%s", nonce, iterations))
}

// TestScramIterations is about what a server may ask for, and a context that has ended before a password is hashed as often as is allowed.
func TestScramIterations(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, create := range []AuthenticatorFactory{newScramSHA1Authenticator, newScramSHA256Authenticator} {
		created, err := create(&Cred{Username: "user", Password: "secret"}, nil)
		require.NoError(t, err)
		for count, want := range map[string]string{
			"4095": "too few iterations", "4096": "", "15000": "", "2000001": "too many iterations", "030000000": "too many iterations",
			"99999999999999999999": "too many iterations", "x": "parsing",
		} {
			client := created.(*ScramAuthenticator).createSaslClient()
			_, err = client.Next(context.Background(), challengeAfter(t, client, count))
			if want == "" {
				assert.NoError(t, err, count)
				continue
			}
			assert.ErrorContains(t, err, want, count)
		}
		client := created.(*ScramAuthenticator).createSaslClient()
		_, err = client.Next(ended, challengeAfter(t, client, fmt.Sprint(maxIterations)))
		assert.True(t, errors.Is(err, context.Canceled), "got %v", err)
	}
}
