package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
)

// hoursAMonth turns a price an hour into one a month.
const hoursAMonth = 720

// usd writes an amount that may be unknown, which is never zero.
func usd(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return money.USD(*v)
}

// Span writes a duration as people say it: 45s, 12m, 1h30m, 2d4h.
func Span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	s := int64(d.Round(time.Second) / time.Second)
	part := func(a int64, au string, b int64, bu string) string {
		if b == 0 {
			return fmt.Sprintf("%d%s", a, au)
		}
		return fmt.Sprintf("%d%s%d%s", a, au, b, bu)
	}
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return part(s/60, "m", s%60, "s")
	case s < 48*3600:
		return part(s/3600, "h", s%3600/60, "m")
	}
	return part(s/86400, "d", s%86400/3600, "h")
}

// hours writes a number of hours.
func hours(h float64) string { return Span(time.Duration(h * float64(time.Hour))) }

// Bytes writes a size in powers of 1000.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB", "PB"} {
		if v /= 1000; v < 999.5 {
			break
		}
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// number writes a metric shortly.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// count writes "1 run" or "3 runs".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// bar draws done of total in n columns.
func bar(done, total float64, n int) string {
	full := 0
	if total > 0 {
		full = int(math.Min(1, math.Max(0, done/total)) * float64(n))
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", n-full) + "]"
}

// spark draws the last n values as a line of blocks.
func spark(values []float64, n int) string {
	if len(values) > n {
		values = values[len(values)-n:]
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		i := 0
		if high > low {
			i = int((v - low) / (high - low) * float64(len(blocks)-1))
		}
		b.WriteRune(blocks[max(0, min(i, len(blocks)-1))])
	}
	return b.String()
}

func price(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return money.Price(*v)
}
