// Package probe asks a live address what it permits, and says which profile of package
// proxycompat it is most like.
//
// A profile is what was found out about a proxy once, of one version, with one
// configuration. The proxy in front of your servers may be patched, or configured
// otherwise. [Probe] asks it:
//
//	report, err := probe.Probe(ctx, "codis-proxy:19000", probe.Config{})
//	if err != nil {
//		return err // says what to do
//	}
//	fmt.Print(report.Text())
//
// # What it does to the servers
//
// It is meant for a proxy that others are using:
//
//   - It touches keys of its own only, under a random prefix. They expire after a
//     minute, and are deleted at the end, also when ctx ends. A user who may not use
//     PEXPIRE is asked for no command that writes, but SET with an expiry.
//   - It sends nothing that removes or reconfigures anything, that lists keys of
//     others, or that blocks.
//   - It sends no command that any known profile marks as harmful to other clients of
//     the same proxy. WATCH and SELECT are harmful behind one of them: they are asked
//     last, and only where the answers so far rule that proxy out.
//   - It sends a few thousand small commands, one after the other or in short pipelines
//     on at most five connections, some values of up to 1 MiB, and ends after [Config.Budget].
//   - Each server keeps a few short scripts in its script cache, as after any EVAL; one of
//     them is a new one each time.
//
// [Config.Risky] lifts the third: it asks what can break connections that other clients
// share, and is for a proxy of your own.
//
// What can remain: a proxy that fails may execute a command after it has said that it
// failed, and after the key was deleted. Where that may be, a value that expires takes the
// place of the key, on which a late HSET, SADD or the like does nothing. A late MSET,
// GETSET or PERSIST, or one that is later than a minute, does leave a key without expiry;
// and so does a server that is away at the end ([Report.Lasting]).
//
// # What it cannot see
//
// That a command is routed by the wrong word shows only if the wrong server is asked.
// What an error means is guessed by its words; an error that any server would give (a
// wrong type, a missing right) counts neither for nor against a profile, and neither
// does a command that was not answered in time. Where fewer than half of the commands
// count, no profile is named ([Report.Enough]). That no
// pipeline was out of order, and no read was stale, is no promise: under load it may be.
//
// Probe has no state between calls, and may be called concurrently.
package probe
