// Package probe tests the commands that a live address permits, and reports the most similar profile of
// package proxycompat.
//
// A profile describes one version of a proxy with one configuration. The proxy in front of your servers may
// be patched, or configured differently. [Probe] tests it:
//
//	report, err := probe.Probe(ctx, "codis-proxy:19000", probe.Config{})
//	if err != nil {
//		return err // names the cause and the remedy
//	}
//	fmt.Print(report.Text())
//
// # Effects on the servers
//
// Probe is safe for a proxy in use:
//
//   - It uses only its own keys, under a random prefix. They expire after a
//     minute, and are deleted at the end, also when ctx ends. If the user may not use
//     PEXPIRE, the only write is SET with an expiry.
//   - It sends no command that deletes or reconfigures anything, that lists keys of
//     others, or that blocks.
//   - It sends no command that any known profile marks as harmful to other clients of
//     the same proxy. WATCH and SELECT are harmful behind one proxy: they are sent
//     last, and only if the answers so far exclude that proxy.
//   - It sends a few thousand small commands, one after the other or in short pipelines
//     on at most five connections, some values of up to 1 MiB, and ends after [Config.Budget].
//   - Each server keeps a few short scripts in its script cache, as after any EVAL; one of
//     them is a new one each time.
//
// [Config.Risky] lifts the third: Probe then sends commands that can break connections shared with other
// clients. Use it for your own proxy only.
//
// Keys may remain: a failing proxy may execute a command after it has reported an error, and after the key
// was deleted. In that case Probe replaces the key with a value that expires, on which a late HSET, SADD or
// the like has no effect. A late MSET, GETSET or PERSIST, or any command later than a minute, does leave a
// key without expiry, and so does a server that is unreachable at the end ([Report.Lasting]).
//
// # Limits
//
// Misrouting shows only if the command reaches the wrong server. Error texts are classified by their words.
// An error that any server would return (a wrong type, a missing permission) counts neither for nor against
// a profile, and neither does a command without an answer in time. If fewer than half of the commands
// count, the report names no profile ([Report.Enough]). A probe without reordered pipelines and stale reads
// proves nothing: they may occur under load.
//
// Probe has no state between calls, and may be called concurrently.
package probe
