package overload

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/clock"
)

func newTestParameters(t testing.TB) *Parameters {
	t.Helper()
	connections, err := NewConnectionLimiter(clock.System{}, Unlimited())
	require.NoError(t, err)
	return NewParameters(requestLimiter(t, RequestLimiterConfig{Limit: Unlimited()}), connections)
}

// These are the commands that switch the real server's limits on and off.
func TestSetAndGetParameters(t *testing.T) {
	p := newTestParameters(t)
	for _, step := range []struct{ command, want string }{
		{`{"getParameter": 1, "ingressRequestRateLimiterEnabled": 1, "ingressRequestAdmissionRatePerSec": 1}`,
			`{"ingressRequestRateLimiterEnabled":false,"ingressRequestAdmissionRatePerSec":2147483647,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestRateLimiterApplicationExemptions": {"appNames": ["ctl"]}, "ingressRequestAdmissionRatePerSec": 2000,
			"ingressRequestAdmissionBurstCapacitySecs": 0.1, "ingressRequestRateLimiterEnabled": true, "comment": "x"}`,
			`{"was":null,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestAdmissionMaxQueueDepth": {"$numberLong": "7"}}`, `{"was":0,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestAdmissionRatePerSec": 1000.0}`, `{"was":2000,"ok":1.0}`},
		{`{"getParameter": 1, "ingressRequestAdmissionBurstCapacitySecs": 1}`, `{"ingressRequestAdmissionBurstCapacitySecs":0.1,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestRateLimiterEnabled": 0}`, `{"was":true,"ok":1.0}`},
		{`{"getParameter": 1, "ingressRequestRateLimiterApplicationExemptions": 1}`,
			`{"ingressRequestRateLimiterApplicationExemptions":["ctl"],"ok":1.0}`},
		{`{"setParameter": 1, "ingressConnectionEstablishmentRateLimiterEnabled": true, "ingressConnectionEstablishmentRatePerSec": 20,
			"ingressConnectionEstablishmentBurstCapacitySecs": 1, "ingressConnectionEstablishmentMaxQueueDepth": 1}`, `{"was":false,"ok":1.0}`},
		{`{"getParameter": "*"}`, `{"ok":1,"served":true,"ingressRequestRateLimiterEnabled":false,"ingressRequestAdmissionRatePerSec":1000,` +
			`"ingressRequestAdmissionBurstCapacitySecs":0.1,"ingressRequestAdmissionMaxQueueDepth":7,` +
			`"ingressConnectionEstablishmentRateLimiterEnabled":true,"ingressConnectionEstablishmentRatePerSec":20,` +
			`"ingressConnectionEstablishmentBurstCapacitySecs":1.0,"ingressConnectionEstablishmentMaxQueueDepth":1,` +
			`"ingressRequestRateLimiterApplicationExemptions":["ctl"]}`},
	} {
		assert.Equal(t, step.want, run(t, p, "admin", step.command), step.command)
	}
	assert.Equal(t, Limit{RatePerSec: 1000, BurstCapacitySecs: 0.1, MaxQueueDepth: 7}, p.requests.Limit())
	assert.Equal(t, Limit{Enabled: true, RatePerSec: 20, BurstCapacitySecs: 1, MaxQueueDepth: 1}, p.connections.Limit())
	assert.Equal(t, []string{"ctl"}, p.requests.ExemptApplications())
}

func TestOtherParametersAreTheBackends(t *testing.T) {
	p := newTestParameters(t)
	assert.Equal(t, served, run(t, p, "admin", `{"setParameter": 1, "transactionLifetimeLimitSeconds": 3}`))
	assert.Equal(t, served, run(t, p, "admin", `{"getParameter": 1, "featureCompatibilityVersion": 1}`))
	assert.Equal(t, served, run(t, p, "admin", `{"ping": 1}`))
	assert.Equal(t, served, run(t, p, "d", `{"getParameter": 1, "ingressRequestRateLimiterEnabled": 1}`), "which refuses it")
	for _, command := range []string{"setParameter", "getParameter"} {
		reply := run(t, p, "admin", `{"`+command+`": 1, "ingressRequestRateLimiterEnabled": true, "logLevel": 1}`)
		assert.Contains(t, reply, "ingressRequestRateLimiterEnabled belongs to the lab and logLevel to the server behind it")
		assert.Contains(t, reply, `"ok":0.0`)
	}
	assert.False(t, p.requests.Limit().Enabled)
}

func TestRefusedParametersChangeNothing(t *testing.T) {
	for parameter, want := range map[string]string{
		`"ingressRequestRateLimiterEnabled": "yes"`:                            `give true or false","code":14,"codeName":"TypeMismatch"`,
		`"ingressRequestAdmissionRatePerSec": 0`:                               `give a whole number from 1 to 2147483647","code":2,"codeName":"BadValue"`,
		`"ingressRequestAdmissionRatePerSec": 2147483648`:                      `BadValue`,
		`"ingressRequestAdmissionRatePerSec": 1.5`:                             `BadValue`,
		`"ingressRequestAdmissionRatePerSec": "1"`:                             `TypeMismatch`,
		`"ingressRequestAdmissionBurstCapacitySecs": 0`:                        `give a number above 0`,
		`"ingressRequestAdmissionBurstCapacitySecs": {"$numberDouble": "NaN"}`: `BadValue`,
		`"ingressRequestAdmissionBurstCapacitySecs": true`:                     `TypeMismatch`,
		`"ingressRequestAdmissionMaxQueueDepth": -1`:                           `BadValue`,
		`"ingressConnectionEstablishmentRatePerSec": -1`:                       `BadValue`,
		`"ingressRequestRateLimiterApplicationExemptions": ["a"]`:              `give {appNames: [name, ...]}`,
		`"ingressRequestRateLimiterApplicationExemptions": {}`:                 `TypeMismatch`,
		`"ingressRequestRateLimiterApplicationExemptions": {"appNames": [1]}`:  `TypeMismatch`,
	} {
		p := newTestParameters(t)
		reply := run(t, p, "admin", `{"setParameter": 1, "ingressConnectionEstablishmentMaxQueueDepth": 5, `+parameter+`}`)
		assert.Contains(t, reply, want, parameter)
		assert.Contains(t, reply, `"ok":0.0`, parameter)
		assert.Equal(t, Unlimited(), p.requests.Limit(), parameter)
		assert.Equal(t, Unlimited(), p.connections.Limit(), parameter)
		assert.Nil(t, p.requests.ExemptApplications(), parameter)
	}
}

func TestDocumentationHasAllParameters(t *testing.T) {
	const path = "../../../docs/lab.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, parameter := range newParameters() {
		assert.Contains(t, string(text), "| `"+parameter.name+"` |", path)
	}
}
