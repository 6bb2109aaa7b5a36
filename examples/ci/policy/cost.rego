# conftest test --policy policy plan.json
package main

import rego.v1

# USD that a plan may spend at most, all its runs together.
limit := 5

deny contains msg if {
	input.cost.max_usd > limit
	msg := sprintf("the plan may cost %v USD, more than %v", [round(input.cost.max_usd * 100) / 100, limit])
}

deny contains msg if {
	input.cost.max_usd == null
	msg := "nobody can say what the plan may cost at most"
}

deny contains "the plan cannot be applied" if not input.applyable

deny contains msg if {
	some check in input.checks
	not check.status in {"pass", "undecided"}
	msg := sprintf("check %s (%s): %s", [check.name, check.where, check.status])
}

deny contains msg if {
	some change in input.resource_changes
	change.action == "destroy"
	change.type == "volume"
	msg := sprintf("%s would be deleted with everything on it", [change.address])
}

warn contains msg if {
	some left in input.leftovers
	msg := sprintf("%s %s exists and may bill: %s", [left.kind, object.get(left, "id", ""), left.note])
}
