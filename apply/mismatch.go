package apply

import (
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
)

// mismatch says how a pod differs from what was asked, "" if it does not.
func mismatch(t plan.TargetSpec, o plan.Offer, disk float64, pod providers.Pod) string {
	asked := max(1, t.GPUCount)
	switch {
	case o.PriceUSD != nil && pod.RatePerHour > *o.PriceUSD+aCent+disk:
		return fmt.Sprintf("%s an hour was shown and %s is charged", money.Price(*o.PriceUSD), money.Price(pod.RatePerHour))
	case pod.GPUCount > 0 && pod.GPUCount != asked:
		return fmt.Sprintf("it has %d of %d GPUs", pod.GPUCount, asked)
	case t.Cloud != "" && pod.Cloud != "" && string(pod.Cloud) != t.Cloud:
		return fmt.Sprintf("it is in the %s cloud, asked was %s", pod.Cloud, t.Cloud)
	case pod.DataCenter != "" && len(o.DataCenters) > 0 && !contains(o.DataCenters, pod.DataCenter):
		return fmt.Sprintf("it is in %s, asked was %s", pod.DataCenter, strings.Join(o.DataCenters, ", "))
	case t.MinCUDA != "" && pod.CUDA != "" && olderCUDA(pod.CUDA, t.MinCUDA):
		return fmt.Sprintf("its CUDA is %s, at least %s was asked", pod.CUDA, t.MinCUDA)
	}
	return ""
}

// olderCUDA compares two versions like "12.8".
func olderCUDA(have, want string) bool {
	var h, w [2]int
	if n, _ := fmt.Sscanf(have, "%d.%d", &h[0], &h[1]); n == 0 {
		return false
	}
	if n, _ := fmt.Sscanf(want, "%d.%d", &w[0], &w[1]); n == 0 {
		return false
	}
	return h[0] < w[0] || h[0] == w[0] && h[1] < w[1]
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
