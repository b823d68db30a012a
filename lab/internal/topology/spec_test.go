package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"standalone":     {Standalone, 1},
		"standalone:1":   {Standalone, 1},
		"replicaset":     {ReplicaSet, 3},
		"replicaset:1":   {ReplicaSet, 1},
		"sharded:50":     {Sharded, 50},
		"loadbalanced":   {LoadBalanced, 2},
		"loadbalanced:3": {LoadBalanced, 3},
		"members":        {Members, 0},
		"members:3":      {Members, 3},
	} {
		got, err := ParseSpec(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := ParseSpec(got.String())
		require.NoError(t, err, text)
		assert.Equal(t, got, again, text)
	}
	for text, want := range map[string]string{
		"":               "the kind is unknown",
		"mongos:2":       "the kind is unknown",
		"replicaset:":    "is not a number",
		"replicaset:x":   "is not a number",
		"replicaset:0":   "not between 1 and 50",
		"sharded:51":     "not between 1 and 50",
		"loadbalanced:0": "not between 1 and 50",
		"standalone:2":   "a standalone has one member",
	} {
		_, err := ParseSpec(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestEndpoints(t *testing.T) {
	hosts := []string{"h:1", "h:2"}
	assert.Equal(t, []Endpoint{{"MONGODB_URI", "mongodb://h:1,h:2/"}}, Spec{Sharded, 2}.Endpoints(hosts, SetName, false))
	assert.Equal(t, []Endpoint{{"MONGODB_URI", "mongodb://h:1/?tls=true"}}, Spec{Standalone, 1}.Endpoints(hosts[:1], SetName, true))
	assert.Equal(t, []Endpoint{{"MONGODB_URI", "mongodb://h:1,h:2/?replicaSet=lab&tls=true"}},
		Spec{ReplicaSet, 2}.Endpoints(hosts, SetName, true))
	assert.Equal(t, []Endpoint{{"MONGODB_URI", "mongodb://h:1,h:2/?replicaSet=rs0"}}, Spec{Members, 0}.Endpoints(hosts, "rs0", false))
	assert.Equal(t, []Endpoint{
		{"SINGLE_MONGOS_LB_URI", "mongodb://h:1/?loadBalanced=true"},
		{"MULTI_MONGOS_LB_URI", "mongodb://h:2/?loadBalanced=true"},
	}, Spec{LoadBalanced, 5}.Endpoints(hosts, SetName, false))
}

func TestNewRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		spec    Spec
		hosts   []string
		options Options
		want    string
	}{
		"real members":  {Spec{Members, 3}, []string{"h:1"}, Options{}, "it is real"},
		"bad spec":      {Spec{ReplicaSet, 0}, nil, Options{}, "0 members"},
		"too few hosts": {Spec{ReplicaSet, 2}, []string{"h:1"}, Options{}, "1 hosts for 2 fronts"},
		"too many tags": {Spec{Sharded, 1}, []string{"h:1"}, Options{Tags: make([]map[string]string, 2)}, "tags for 2 members"},
	} {
		_, err := New(test.spec, test.hosts, test.options)
		assert.ErrorContains(t, err, test.want, name)
	}
}
