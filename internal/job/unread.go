package job

import "fmt"

// UnreadError is results that the pod itself cannot read: files, and links with
// directories behind them. Everything else can be listed without them.
type UnreadError struct{ Paths []string }

func (e *UnreadError) Error() string { return firstOf(e.Paths) + " cannot be read on the pod" }

// firstOf names the first of some paths and how many more there are.
func firstOf(paths []string) string {
	if n := len(paths) - 1; n > 0 {
		return fmt.Sprintf("%q and %d more", paths[0], n)
	}
	return fmt.Sprintf("%q", paths[0])
}
