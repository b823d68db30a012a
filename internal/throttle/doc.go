// Package throttle decides which attempts of a client to hold back from a server that would most likely reject them. It is what
// adaptiveThrottling adds to the specification's retries, and docs/throttling.md has the rule with a reason for each number.
//
// One Throttle belongs to one server of one client, which asks it before an attempt, and tells it after. It knows no type of the driver.
package throttle
