//go:build !unix

package mongod

import (
	"errors"
	"os"
)

func pauseProcess(*os.Process) error { return errors.ErrUnsupported }

func resumeProcess(*os.Process) error { return errors.ErrUnsupported }
