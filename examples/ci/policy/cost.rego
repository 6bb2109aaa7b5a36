# conftest test --policy policy plan.json
package main

import rego.v1

limit := 5

deny contains msg if {
	input.cost.max_usd > limit
	msg := sprintf("the plan may cost %.2f USD, more than %d", [input.cost.max_usd, limit])
}

deny contains msg if {
	input.cost.max_usd == null
	msg := "nobody can say what the plan may cost at most"
}

deny contains msg if {
	some change in input.resource_changes
	change.action == "destroy"
	change.type == "volume"
	msg := sprintf("%s would be deleted with everything on it", [change.address])
}
