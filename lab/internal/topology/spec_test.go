package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"standalone":     {Standalone, 1},
		"replicaset":     {ReplicaSet, 3},
		"replicaset:1":   {ReplicaSet, 1},
		"sharded:50":     {Sharded, 50},
		"loadbalanced":   {LoadBalanced, 2},
		"loadbalanced:3": {LoadBalanced, 3},
		"members":        {Members, 3},
		"members:3":      {Members, 3},
	} {
		got, err := ParseSpec(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := ParseSpec(got.String())
		require.NoError(t, err, text)
		assert.Equal(t, got, again, text)
	}
	for _, text := range []string{"", "mongos:2", "replicaset:", "replicaset:x", "replicaset:0", "sharded:51", "members:0",
		"standalone:1"} {
		_, err := ParseSpec(text)
		assert.ErrorContains(t, err, `give "standalone", "sharded:2"`, text)
	}
}

func TestEndpoints(t *testing.T) {
	hosts := []string{"h:1", "h:2"}
	assert.Equal(t, []Endpoint{{"MONGODB_URI", "mongodb://h:1,h:2/"}}, Spec{Sharded, 2}.Endpoints(hosts))
	assert.Equal(t, []Endpoint{{"MONGODB_URI", "mongodb://h:1,h:2/?replicaSet=lab"}}, Spec{ReplicaSet, 2}.Endpoints(hosts))
	assert.Equal(t, []Endpoint{
		{"SINGLE_MONGOS_LB_URI", "mongodb://h:1/?loadBalanced=true"},
		{"MULTI_MONGOS_LB_URI", "mongodb://h:2/?loadBalanced=true"},
	}, Spec{LoadBalanced, 5}.Endpoints(hosts))
}

func TestNewRefuses(t *testing.T) {
	for _, spec := range []Spec{{Members, 2}, {ReplicaSet, 0}, {ReplicaSet, 3}} {
		_, err := New(spec, []string{"h:1", "h:2"})
		assert.ErrorContains(t, err, "at 2 hosts")
	}
}
