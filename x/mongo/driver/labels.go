package driver

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

// retryableWriteLabeler is implemented by errors of other packages that can have the label RetryableWriteError and stay of their type.
type retryableWriteLabeler interface {
	error

	// ForWrite returns a copy of the error that has the label.
	ForWrite() error
}

// withLabel returns the error with the label added. If the error's type cannot have labels, it is wrapped by one that can, which
// also has the labels of the wrapped one.
func withLabel(err error, label string) error {
	if backpressure.HasLabelInChain(err, label) {
		return err
	}
	switch e := err.(type) {
	case Error:
		e.Labels = addLabel(e.Labels, label)
		return e
	case WriteCommandError:
		e.Labels = addLabel(e.Labels, label)
		return e
	default:
		if labeler, ok := err.(retryableWriteLabeler); ok && label == RetryableWriteError {
			return labeler.ForWrite()
		}
		return Error{Message: err.Error(), Labels: addLabel(backpressure.LabelsInChain(err), label), Wrapped: err, repeats: true}
	}
}

// Error knows whether its message is that of the error that it wraps, and whether its command was sent.
//
//fork:extend an error that gets a label would be told twice; commits that were not sent
type Error struct {
	repeats bool // the message of the wrapped error
	unsent  bool // no attempt that may have been executed was sent
}

// A message that only repeats the wrapped error's is there once.
//
//fork:wrap an error that gets a label would be told twice
func (e Error) Error() string {
	if e.repeats {
		e.Wrapped = nil
	}
	return e.upstreamError()
}

// Is lets errors.Is find whether no attempt was sent.
func (e Error) Is(target error) bool { return e.unsent && target == backpressure.ErrNeverSent }

// withoutLabel returns the error without the label, if it has a type that driver code labels.
func withoutLabel(err error, label string) error {
	e, ok := err.(Error)
	if !ok {
		return err
	}
	var kept []string
	for _, l := range e.Labels {
		if l != label {
			kept = append(kept, l)
		}
	}
	e.Labels = kept
	return e
}

// addLabel returns the labels with one more. It never writes to the labels' array, which copies of errors may share.
func addLabel(labels []string, label string) []string {
	return append(labels[:len(labels):len(labels)], label)
}
