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
	}
	return format(up(v, places(v)), places(v))
}

// Left writes what is left of a sum: rounded down, so that it and what was spent, which
// is rounded up, are together no more than there is.
func Left(v float64) string {
	unit := math.Pow10(places(v))
	left := math.Floor(v*unit+1e-6) / unit
	if left <= 0 {
		return USD(0)
	}
	return format(left, places(v))
}

// mostExact is up to what amounts are written to a hundredth of a cent.
const mostExact = 0.0099

func places(v float64) int {
	if v <= mostExact {
		return 4
	}
	return 2
}

// up rounds up to so many decimal places.
func up(v float64, places int) float64 {
	unit := math.Pow10(places)
	return max(0, math.Ceil(v*unit-1e-6)) / unit
}

func format(v float64, places int) string { return "$" + strconv.FormatFloat(v, 'f', places, 64) }

// Sum writes the sum of amounts, as exactly as the most exact of them is written;
// "about" where the amounts as they are written add up to something else, each being
// rounded up.
func Sum(amounts ...float64) string {
	sum, shown, exact := 0.0, 0.0, 2
	for _, v := range amounts {
		if v != 0 {
			exact = max(exact, places(v))
			shown += up(v, places(v))
		}
		sum += v
	}
	if sum = up(sum, exact); math.Abs(sum-shown) > 1e-6 {
		return "about " + format(sum, exact)
	}
	return format(sum, exact)
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
