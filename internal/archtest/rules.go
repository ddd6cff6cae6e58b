package archtest

// module is the import path of the root module.
const module = "github.com/unwatch/unwatch"

// The modules that the rules below name. A path stands for everything below it.
const (
	goRedis   = "github.com/redis/go-redis/v9"
	uuid      = "github.com/google/uuid"
	breaker   = "github.com/sony/gobreaker/v2"
	histogram = "github.com/HdrHistogram/hdrhistogram-go"
	miniredis = "github.com/alicebob/miniredis/v2"
	yaml      = "go.yaml.in/yaml/v3"
	luaAST    = "github.com/yuin/gopher-lua/ast"
	luaParse  = "github.com/yuin/gopher-lua/parse"
	xtools    = "golang.org/x/tools"
	plugins   = "github.com/golangci/plugin-module-register"
)

// rule lists the packages that the covered packages may import besides the standard library. An entry
// includes the packages below it.
type rule struct {
	// pkg is a folder of the module. "…/*" covers its direct children,
	// "…/..." the folder and everything below it.
	pkg string
	// may are folders of the module (with the same two endings) and modules.
	may []string
	// why is the reason that a failure prints.
	why string
}

// houseRules is the table of permitted imports. The first rule that covers a package decides. A package
// without a rule is a failure, so that a new package is a decision.
func houseRules() []rule {
	return []rule{
		{"rmw", nil,
			"the contract is the standard library only, so that nothing stands between a service and a change of path"},
		{"internal/suite", nil,
			"the engine of the conformance suites knows no subject"},
		{"rmw/rmwtest", []string{"rmw", "internal/suite"},
			"the conformance suite knows the contract and no path that it judges"},
		{"cas", []string{"rmw", goRedis, "internal/redisx"},
			"the legacy path is deleted at the end of a migration, so it must not know the new one"},
		{"lock", []string{"rmw"},
			"the contract of a lock knows no lock service, so that a service changes its own by one line"},
		{"lock/locktest", []string{"lock", "rmw", "internal/suite"},
			"the suite for Lockers judges any Locker, whatever it is built on"},
		{"lockupdate/redlock", []string{"lock", "rmw", goRedis, uuid, "internal/redisx"},
			"a quorum is one more Locker over go-redis, and needs nothing else"},
		{"lockupdate/internal/driver", []string{"rmw", goRedis, uuid, "internal/redisx"},
			"a driver builds commands and reads replies, and sends nothing"},
		{"lockupdate/internal/transport", []string{"rmw", goRedis, breaker, "internal/redisx", "lockupdate/internal/driver"},
			"the transport sends commands, and knows no lock"},
		{"lockupdate/internal/event", nil,
			"events are data"},
		{"lockupdate/internal/lease", []string{"rmw", "lock", "internal/redisx", "internal/timewheel",
			"lockupdate/internal/driver", "lockupdate/internal/event", "lockupdate/internal/transport"},
			"the leases know no queue and no Store"},
		{"lockupdate/internal/poll", []string{"rmw"},
			"the schedule of polls is pure: no clock, no store"},
		{"lockupdate/internal/poll/scale", []string{"rmw", "lockupdate/internal/poll"},
			"the model plays the schedule and nothing else of the Store"},
		{"lockupdate/internal/holder", []string{"rmw", "internal/redisx", "lockupdate/internal/driver",
			"lockupdate/internal/event", "lockupdate/internal/lease", "lockupdate/internal/poll", "lockupdate/internal/transport"},
			"contention knows the lease and the driver, and no Store"},
		{"lockupdate", []string{"rmw", "lock", goRedis, uuid, "internal/redisx", "lockupdate/internal/..."},
			"the new path must not know the legacy one, or ending the migration would break it"},
		{"shadow/report", []string{histogram, "internal/wrap"},
			"what was found is data: whoever reads it needs no store"},
		{"shadow/report/reporttest", []string{"shadow/report"},
			"examples of what was found are data too"},
		{"shadow/internal/*", []string{"rmw"},
			"what differs between two values is found without a store"},
		{"shadow", []string{"rmw", "shadow/...", breaker, histogram},
			"comparing two stores must work for any two stores, so it knows the contract only"},
		{"cutover", []string{"rmw", "cas", "lockupdate", "shadow", goRedis},
			"moving the authority is the one place that knows both paths"},
		{"domains/desk", []string{"rmw", "domains", "domains/session", "domains/mcc"},
			"who works on sessions and agents knows both, so that they need not know each other"},
		{"domains/*", []string{"rmw", "domains"},
			"what a service stores does not depend on how it is updated"},
		{"domains", []string{"rmw"},
			"what all entities have in common knows none of them, and no path"},
		{"proxycompat", []string{"rmw", goRedis, "internal/resp"},
			"what a proxy permits is asked by the paths, never the other way round"},
		{"proxycompat/custom", []string{"proxycompat", yaml},
			"reading files stays out of what every service links, so package proxycompat knows no YAML"},
		{"proxycompat/probe", []string{"proxycompat", "internal/resp", "internal/wrap"},
			"who asks a live address speaks the wire itself: a client would hide which connection was closed"},
		{"proxycompat/scriptcheck", []string{"proxycompat", luaAST, luaParse},
			"who reads a script needs a parser of Lua, and nothing that could execute it"},
		{"proxycompat/proxytest", []string{"proxycompat", "rmw", goRedis, miniredis, "internal/resp"},
			"the fake proxy speaks the wire over an in-process server"},
		{"cmd/migrate-check/golangci", []string{"cmd/migrate-check/...", xtools, plugins},
			"a plugin for golangci-lint is the analyzers, and what golangci-lint knows plugins by"},
		{"cmd/migrate-check/internal/analysis/rewrite/internal/twins/*", []string{"rmw", goRedis},
			"what is rewritten, and what becomes of it, is what a service would write"},
		{"cmd/migrate-check/rules", nil,
			"the rules are data, which anybody may read"},
		{"cmd/migrate-check/...", []string{"cmd/migrate-check/...", "proxycompat/...", "shadow/report", "internal/live", "internal/wrap",
			goRedis, xtools},
			"the checker is the only one that may import x/tools: no service should download a compiler front end"},
		{"examples/...", []string{"...", goRedis, miniredis},
			"an example may show anything of the module, on an in-process server"},
		{"internal/live", []string{"cmd/migrate-check/rules", "proxycompat", "internal/resp", "internal/wrap"},
			"who looks at a server speaks the wire itself: a client sends commands of its own, which would be counted"},
		{"internal/redisx", []string{"rmw", goRedis},
			"classifying an error needs the client and the reasons of the contract"},
		{"internal/resp", nil,
			"the wire format depends on nobody"},
		{"internal/timewheel", nil,
			"a wheel has no owner, no clock and no Redis"},
		{"internal/wrap", nil,
			"laying out text depends on nobody"},
		{"internal/meter", nil,
			"counting depends on nobody"},
		{"internal/contract", []string{"rmw", "rmw/rmwtest", "proxycompat", "proxycompat/proxytest", goRedis, miniredis},
			"putting a path into the suite needs the suite and the fake proxy, but none of the paths"},
		{"internal/paths", []string{"rmw/...", "cas", "lockupdate", "shadow", "internal/contract", "proxycompat/...", goRedis},
			"opening each path for a test needs each path"},
		{"internal/migration", nil,
			"who plays a migration runs commands, and has no code of ours but in its tests"},
		{"internal/domaindoc", []string{"domains/..."},
			"pages about the entities are made of the entities"},
		{"internal/testing/long", nil,
			"it skips a test"},
		{"internal/testing/unguarded", []string{goRedis},
			"a negative control takes from commands what the product never lets go of, so it sees the client only"},
		{"internal/servers/cmd/*", []string{"internal/servers"},
			"starting servers for a command is all that it does"},
		{"internal/servers", nil,
			"nested modules use it, so it must not pull anything into them"},
		{"internal/proxydoc", []string{"proxycompat"},
			"pages about the profiles are made of the profiles"},
		{"internal/archtest", nil,
			"the judge of the imports has none"},
		{"internal/doccheck", nil,
			"the judge of the documents has no imports of its own"},
	}
}
