// Package serverlimits tells which settings of a Redis server weaken the guarantees, from its INFO.
package serverlimits

import (
	"fmt"
	"strings"
)

// Of returns a sentence for each such setting. A field that the server does not show, or a proxy hides, is not judged.
func Of(info string) []string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if field, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[field] = value
		}
	}
	var limits []string
	switch policy := fields["maxmemory_policy"]; {
	case strings.HasPrefix(policy, "allkeys-"):
		limits = append(limits, fmt.Sprintf("maxmemory-policy %.20q evicts values, locks and markers at maxmemory: use noeviction", policy))
	case strings.HasPrefix(policy, "volatile-"):
		limits = append(limits, fmt.Sprintf("maxmemory-policy %.20q evicts locks and values with an expiry at maxmemory, so that two sections "+
			"of one lock may overlap: use noeviction, or keep caches on another server", policy))
	}
	// Servers show the field only if min-replicas-to-write is set.
	if _, set := fields["min_slaves_good_slaves"]; set && !refusesScripts(fields["redis_version"]) {
		limits = append(limits, "min-replicas-to-write does not hold for scripts before Redis 6.0.17, 6.2.7 and 7.0, and so not for "+
			"lockupdate: a failover loses as many updates as without it")
	}
	return limits
}

// refusesScripts reports whether scripts obey min-replicas-to-write: since Redis 6.0.17, 6.2.7 and 7.0.
func refusesScripts(version string) bool {
	var major, minor, patch int
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch) // what is missing stays 0
	return major > 6 || major == 6 && (minor == 0 && patch >= 17 || minor == 2 && patch >= 7)
}
