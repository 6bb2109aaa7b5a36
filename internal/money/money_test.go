package money

import "testing"

func TestAmountsAreNeverShownSmallerThanTheyAre(t *testing.T) {
	for want, got := range map[string]string{
		"$0.00":   USD(0),
		"$0.0001": USD(0.00003),
		"$0.0012": USD(0.00115),
		"$0.0040": USD(0.004),
		"$0.01":   USD(0.00999),
		"$0.31":   USD(0.301),
		"$1.00":   USD(1),
		"-$2.50":  USD(-2.5),
		"$0.40":   Price(0.4),
		"$0.00 ":  Price(0) + " ",
		"$0.435":  Price(0.435),
		"$0.4469": Price(0.44 + 0.006849),
		"$0.447":  Price(0.4469444),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a reader adds up from the amounts as they are written is the sum, or it is
// told as about so much.
func TestSumsHold(t *testing.T) {
	for _, c := range []struct {
		want    string
		amounts []float64
	}{
		{"$0.00", nil},
		{"$0.00", []float64{0, 0}},
		{"$0.0210", []float64{0.0035, 0.0035, 0.0035, 0.0035, 0.0035, 0.0035}},
		{"$0.2535", []float64{0.25, 0.0035}},
		{"about $0.2546", []float64{0.2511, 0.0035}},
		{"$3.00", []float64{1.5, 1.5}},
		{"about $0.64", []float64{0.211, 0.211, 0.211}},
	} {
		if got := Sum(c.amounts...); got != c.want {
			t.Errorf("%v: %s, want %s", c.amounts, got, c.want)
		}
	}
}

// What is left and what was spent are together no more than there is.
func TestWhatIsLeftIsNeverShownLarger(t *testing.T) {
	for v, want := range map[float64]string{0: "$0.00", 0.0706: "$0.07", 0.0999: "$0.09", 0.1: "$0.10", 0.0094: "$0.0094", 0.00009: "$0.00", -1: "$0.00", 1.0799999999: "$1.08"} {
		if got := Left(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}
