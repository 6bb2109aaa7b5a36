// Package money writes sums and prices in US dollars. Everything that a person
// reads uses it, so that one amount never stands there in two forms.
package money

import (
	"math"
	"strconv"
	"strings"
)

// USD writes an amount of money: cents, and more places where cents would hide
// it. Costs are rounded up, so that no sum reads smaller than it is.
func USD(v float64) string {
	switch {
	case v == 0:
		return "$0.00"
	case v < 0:
		return "-" + USD(-v)
	case v <= 0.0099:
		return "$" + strconv.FormatFloat(math.Ceil(v*10000-1e-6)/10000, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(math.Ceil(v*100-1e-6)/100, 'f', 2, 64)
}

// Rate is a price an hour as it is shown and reckoned with: rounded up to a
// hundredth of a cent, so that what a day of it costs agrees everywhere.
func Rate(v float64) float64 { return max(0, math.Ceil(v*10000-1e-6)/10000) }

// Price writes a price an hour, with two to four decimals.
func Price(v float64) string {
	s := strconv.FormatFloat(Rate(v), 'f', 4, 64)
	for len(s)-strings.Index(s, ".") > 3 && strings.HasSuffix(s, "0") {
		s = s[:len(s)-1]
	}
	return "$" + s
}
