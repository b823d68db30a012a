package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"standalone":     {Standalone, 1},
		"replicaset:1":   {ReplicaSet, 1},
		"sharded:50":     {Sharded, 50},
		"loadbalanced:3": {LoadBalanced, 3},
	} {
		got, err := ParseSpec(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "mongos:2", "replicaset", "replicaset:", "replicaset:x", "replicaset:0", "sharded:51",
		"members:3",
		"standalone:1"} {
		_, err := ParseSpec(text)
		assert.ErrorContains(t, err, `give "standalone", "replicaset:3"`, text)
	}
}

func TestURIs(t *testing.T) {
	hosts := []string{"h:1", "h:2"}
	assert.Equal(t, []string{"mongodb://h:1,h:2/"}, Spec{Sharded, 2}.URIs(hosts))
	assert.Equal(t, []string{"mongodb://h:1,h:2/?replicaSet=lab"}, Spec{ReplicaSet, 2}.URIs(hosts))
	assert.Equal(t, []string{"mongodb://h:1/?loadBalanced=true", "mongodb://h:2/?loadBalanced=true"},
		Spec{LoadBalanced, 5}.URIs(hosts))
}
