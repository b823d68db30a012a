package retry

// HeldBack is an attempt that a Throttle held back: nothing was sent, and no server had any work.
const HeldBack = Late + 1

// Throttled is the reason for a retry of what was held back, and for none in an overload that lasts.
const Throttled Reason = "throttled"

// mostSpared is how many attempts of a command may be held back without counting to the limit, as nothing was sent.
const mostSpared = 5
