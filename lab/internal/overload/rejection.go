package overload

import (
	"fmt"
	"slices"
	"strings"

	"mongofork/lab/internal/answer"
)

// Rejection names the error with which a server sheds load.
type Rejection string

// The rejections. They differ mainly in their labels, by which clients have to go.
const (
	// RequestRate is 462 of the ingress request rate limiter, as servers since 8.2.6 label it: retryable, no writes.
	RequestRate Rejection = "IngressRequestRateLimitExceeded"
	// RequestRateBefore826 is the same as older servers label it, without NoWritesPerformed.
	RequestRateBefore826 Rejection = "IngressRequestRateLimitExceeded before 8.2.6"
	// OperationRate is 463 of Atlas' adaptive limiter: retryable, no writes.
	OperationRate Rejection = "IngressOperationRateLimitExceeded"
	// Interrupted is 473, with which a server ends a running operation: an overload, but not retryable.
	Interrupted Rejection = "InterruptedDueToOverload"
)

// rejections lists all of them, in the order of error messages.
var rejections = [...]Rejection{RequestRate, RequestRateBefore826, OperationRate, Interrupted}

// Check returns an error if it is none.
func (r Rejection) Check() error {
	if slices.Contains(rejections[:], r) {
		return nil
	}
	names := make([]string, 0, len(rejections))
	for _, known := range rejections {
		names = append(names, fmt.Sprintf("%q", known))
	}
	return fmt.Errorf("the rejection %q is unknown; give %s", r, strings.Join(names, ", "))
}

// Error returns the rejection's error, which is nil for one that Check refuses.
func (r Rejection) Error() *answer.Error {
	retryable := []string{answer.LabelSystemOverloaded, answer.LabelRetryable}
	switch r {
	case RequestRate:
		return &answer.Error{
			Code: answer.CodeIngressRequestRateLimit, Message: "the rate of requests exceeds the server's limit",
			Labels: append(retryable, answer.LabelNoWritesPerformed),
		}
	case RequestRateBefore826:
		return &answer.Error{
			Code: answer.CodeIngressRequestRateLimit, Message: "the rate of requests exceeds the server's limit",
			Labels: retryable,
		}
	case OperationRate:
		return &answer.Error{
			Code: answer.CodeIngressOperationRateLimit, Message: "the rate of operations exceeds the server's limit",
			Labels: append(retryable, answer.LabelNoWritesPerformed),
		}
	case Interrupted:
		return &answer.Error{
			Code: answer.CodeInterruptedDueToOverload, Message: "the operation was interrupted by an overloaded server",
			Labels: []string{answer.LabelSystemOverloaded},
		}
	default:
		return nil
	}
}
