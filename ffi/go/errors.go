package berth

// #include "berth.h"
import "C"

import (
	"errors"
	"fmt"
)

// What errors of this package wrap; tell them apart by errors.Is.
var (
	// ErrClosed: the scheduler was closed.
	ErrClosed = errors.New("the scheduler is closed")
	// ErrBusy: another goroutine is using the scheduler, or a plugin called it.
	ErrBusy = errors.New("the scheduler is in use")
	// ErrBug: a bug in Berth; the scheduler can only be closed.
	ErrBug = errors.New("a bug in Berth")
	// ErrVersion: the package and the library have different ABI versions.
	ErrVersion = errors.New("the library has another ABI version")
	// ErrConfig: kube-scheduler would refuse the configuration.
	ErrConfig = errors.New("bad configuration")
	// ErrObject: an API server would refuse the object.
	ErrObject = errors.New("bad object")
	// ErrArgument: a number is none of its enumeration, an id is that of nothing, a text is not UTF-8.
	ErrArgument = errors.New("bad argument")
	// ErrCapacity: a table is full.
	ErrCapacity = errors.New("a table is full")
	// ErrExists: an object of this kind and name is there already.
	ErrExists = errors.New("it is there already")
	// ErrNotFound: no object of this kind and name is there.
	ErrNotFound = errors.New("it is not there")
	// ErrFile: bytes are no saved state, or one that was cut, changed, or is of another version.
	ErrFile = errors.New("no saved state")
	// ErrState: the call does not fit the present state, such as a rollback without a fork.
	ErrState = errors.New("not now")
)

// ErrRejected, returned by a plugin at Reserve, refuses the pod its place until something changes.
var ErrRejected = errors.New("rejected")

// Error is why a call failed. Nothing was changed then.
type Error struct {
	// Call is the method that failed.
	Call string
	// Text says why.
	Text string

	kind error
}

// Error says which call failed, and why.
func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("berth: %s: %v", e.Call, e.kind)
	}
	return fmt.Sprintf("berth: %s: %s", e.Call, e.Text)
}

// Unwrap is one of the Err variables.
func (e *Error) Unwrap() error { return e.kind }

func kindOf(result C.berth_result_t) error {
	switch result {
	case C.BERTH_RESULT_BAD_HANDLE:
		return ErrClosed
	case C.BERTH_RESULT_BUSY:
		return ErrBusy
	case C.BERTH_RESULT_BAD_VERSION:
		return ErrVersion
	case C.BERTH_RESULT_BAD_CONFIG:
		return ErrConfig
	case C.BERTH_RESULT_BAD_OBJECT:
		return ErrObject
	case C.BERTH_RESULT_BAD_VALUE, C.BERTH_RESULT_BAD_UTF8, C.BERTH_RESULT_NULL_POINTER:
		return ErrArgument
	case C.BERTH_RESULT_CAPACITY:
		return ErrCapacity
	case C.BERTH_RESULT_ALREADY_EXISTS:
		return ErrExists
	case C.BERTH_RESULT_NOT_FOUND:
		return ErrNotFound
	case C.BERTH_RESULT_BAD_FILE:
		return ErrFile
	case C.BERTH_RESULT_BAD_STATE:
		return ErrState
	}
	return ErrBug
}
