package mongo

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// retries checks what errors.As finds of the attempts: those of the first command that failed after retries, or might have been retried.
func (o oracle) retries(acknowledged) string {
	var got *RetryError
	found := errors.As(o.err, &got)
	attempts, commands := map[string]int{}, map[string]int{}
	for _, c := range o.commands {
		attempts[o.operation(c)] += c.attempts
		commands[o.operation(c)]++
	}
	for _, c := range o.commands {
		want, retried := 0, false
		switch {
		case c.results == "rejected":
			want, retried = c.reads, true
		case c.results == "closed" && c.reads > 1:
			want, retried = c.reads, true
		case c.last != "executed":
			want = attempts[o.operation(c)]
			retried = want > commands[o.operation(c)] || c.last == "rejected" ||
				o.way == "retryWrites=false" && c.last != "failed"
		}
		if !retried {
			continue
		}
		if !found {
			return "there is no RetryError"
		}
		// An attempt for which the context left no time was not sent.
		unsent := strings.HasPrefix(o.way, "with a deadline") && got.Attempts == want+1
		if got.Attempts != want && !unsent {
			return fmt.Sprintf("the RetryError tells of %d attempts, want %d", got.Attempts, want)
		}
		return o.backoff(c, got)
	}
	return ""
}

// backoff checks the backoff that a RetryError tells: of a call of one operation that has read no results by getMore, that is all of it.
func (o oracle) backoff(c *modelCommand, got *RetryError) string {
	var all time.Duration
	for _, d := range o.script.Slept {
		all += d
	}
	simple := o.operation(c) == "the only one" && o.way != "with a deadline that ends a backoff"
	for _, c := range o.commands {
		simple = simple && c.reads == 0
	}
	if simple && got.Backoff != all || got.Backoff > all {
		return fmt.Sprintf("the RetryError tells of a backoff of %v, want %v", got.Backoff, all)
	}
	if c.rejected() && c.attempts > 1 && got.Backoff == 0 {
		return "the RetryError tells of no backoff"
	}
	return ""
}
