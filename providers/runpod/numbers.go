package runpod

// maxPrice is the dearest price an hour, in USD, that is taken for one. What
// is reckoned from prices has to stay finite: a state or a plan could not be
// written otherwise.
const maxPrice = 1e6

// price takes a price of the API; 0 stands for "not priced", never for free.
func price(v float64) float64 {
	if v > 0 && v <= maxPrice {
		return v
	}
	return 0
}

// whole takes a count or size of the API; 0 where it is none.
func whole(v float64) int {
	if v > 0 && v <= 1<<31 {
		return int(v)
	}
	return 0
}
