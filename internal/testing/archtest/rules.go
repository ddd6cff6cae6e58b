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
		{"rmw/internal/*", nil,
			"the contract is the standard library only"},
		{"rmw", []string{"rmw/internal/...", "internal/eventtext"},
			"the contract is the standard library only, so that nothing stands between a service and a change of path"},
		{"rmw/driver", []string{"rmw", "rmw/internal/..."},
			"what authors of Stores share depends on the contract only"},
		{"internal/suite", nil,
			"the engine of the conformance suites is independent of their subjects"},
		{"rmw/rmwtest", []string{"rmw", "rmw/driver", "internal/suite"},
			"the conformance suite depends on the contract, not on a path under test"},
		{"cas", []string{"rmw", "rmw/driver", goRedis, "internal/redisx", "internal/resp"},
			"the legacy path is deleted at the end of a migration, so it must not depend on the new one"},
		{"lock", []string{"rmw", "internal/eventtext"},
			"the contract of a lock is independent of lock services, so that a service can switch by changing one line"},
		{"lock/driver", []string{"lock", "rmw", "internal/callback", "internal/leaseclock"},
			"the engine of Lockers is independent of lock services"},
		{"lock/locktest", []string{"lock", "lock/driver", "rmw", "internal/suite"},
			"the suite for Lockers tests any Locker; its Memory is one of package driver"},
		{"lockupdate/redlock", []string{"lock", "lock/driver", "rmw", goRedis, "internal/leaseclock", "internal/redisx"},
			"a quorum is one more Locker over go-redis, and needs nothing else"},
		{"lockupdate/internal/driver", []string{"rmw", goRedis, uuid, "internal/redisx"},
			"a driver builds commands and reads replies, and sends nothing"},
		{"lockupdate/internal/transport", []string{"rmw", goRedis, breaker, "internal/redisx", "lockupdate/internal/driver"},
			"the transport sends commands, and is independent of locks"},
		{"lockupdate/internal/event", []string{"lock"},
			"events are data, in the terms of the contract"},
		{"lockupdate/internal/lease", []string{"rmw", "lock", "internal/callback", "internal/leaseclock", "internal/redisx",
			"internal/timewheel", "lockupdate/internal/driver", "lockupdate/internal/event", "lockupdate/internal/transport"},
			"leases are independent of the wait queue and the Store"},
		{"lockupdate/internal/poll", []string{"rmw"},
			"the schedule of polls is pure: no clock, no store"},
		{"lockupdate/internal/poll/scale", []string{"rmw", "lockupdate/internal/poll"},
			"the model plays the schedule and nothing else of the Store"},
		{"lockupdate/internal/holder", []string{"rmw", "rmw/driver", "lock", "internal/redisx", "lockupdate/internal/driver",
			"lockupdate/internal/event", "lockupdate/internal/lease", "lockupdate/internal/poll", "lockupdate/internal/transport"},
			"contention depends on the lease and the driver, not on the Store"},
		{"lockupdate", []string{"rmw", "lock", goRedis, uuid, "internal/callback", "internal/eventtext", "internal/redisx",
			"lockupdate/internal/..."},
			"the new path must not depend on the legacy one, or the end of the migration would break it"},
		{"shadow/report", []string{"shadow/internal/notcompared", histogram, "internal/exposition", "internal/htmlpage", "internal/wrap"},
			"a report is data: its readers need no store"},
		{"internal/testing/reporttest", []string{"shadow/report"},
			"example reports are data, too"},
		{"shadow/internal/*", []string{"rmw"},
			"what differs between two values is found without a store"},
		{"shadow", []string{"rmw", "rmw/driver", "shadow/...", breaker, histogram, "internal/keyhash"},
			"the comparison must work for any two stores, so it depends on the contract only"},
		{"cutover/internal/protocol", nil,
			"the protocol is pure, so that a model can explore it"},
		{"cutover/internal/model", []string{"cutover/internal/protocol"},
			"the model explores the protocol itself, not its commands"},
		{"cutover/internal/marker", []string{"rmw", "cutover/internal/protocol", goRedis, "internal/redisx"},
			"a marker is a script and its replies"},
		{"cutover", []string{"rmw", "lock", goRedis, histogram, "internal/keyhash", "internal/redisx", "internal/resp", "cutover/internal/..."},
			"moving a key depends on the contract and on one script, not on a path"},
		{"domains/desk", []string{"rmw", "domains", "domains/session", "domains/mcc"},
			"the desk depends on sessions and agents, so that they need not depend on each other"},
		{"domains/*", []string{"rmw", "domains"},
			"stored values do not depend on the path that updates them"},
		{"domains", []string{"rmw", "rmw/driver"},
			"the common part of all entities depends on no entity and no path"},
		{"proxycompat", []string{"rmw", goRedis, "internal/resp"},
			"the paths ask the profile of a proxy, never the other way round"},
		{"proxycompat/profilefile", []string{"proxycompat", yaml},
			"services must not link the file reader, so package proxycompat does not depend on YAML"},
		{"internal/probe", []string{"proxycompat", "internal/resp", "internal/serverlimits", "internal/wrap"},
			"the probe speaks the wire protocol itself: a client would hide which connection was closed; it shares the table of replies"},
		{"proxycompat/scriptcheck", []string{"proxycompat", luaAST, luaParse},
			"the script check needs a parser of Lua, and no interpreter"},
		{"proxycompat/proxytest", []string{"proxycompat", "rmw", goRedis, miniredis, "internal/resp"},
			"the fake proxy speaks the wire over an in-process server"},
		{"cmd/migrate-check/golangci", []string{"cmd/migrate-check/...", "internal/rules", xtools, plugins},
			"the plugin for golangci-lint consists of the analyzers and the registration"},
		{"internal/rules", []string{"proxycompat"},
			"the rule of a command depends on the effect of the proxy, and on nothing else"},
		{"cmd/migrate-check/...", []string{"cmd/migrate-check/...", "proxycompat/...", "shadow/report",
			"internal/cutoverstatus", "internal/live", "internal/probe", "internal/rules", "internal/serverlimits", "internal/wrap",
			"rmw", "lockupdate", "cutover", goRedis, xtools},
			"the checker is the only one that may import x/tools: no service should download a compiler front end"},
		{"examples/...", []string{"...", goRedis, miniredis},
			"an example may show anything of the module, on an in-process server"},
		{"internal/live", []string{"internal/rules", "proxycompat", "internal/exposition", "internal/resp",
			"internal/serverlimits", "internal/wrap"},
			"the live check speaks the wire protocol itself: a client's own commands would be counted; it shares the table of replies"},
		{"internal/redisx", []string{"rmw", goRedis, "internal/resp", "internal/wrap"},
			"classifying and showing an error needs the client, the table of replies, the reasons of the contract and printable text"},
		{"internal/observe", []string{"rmw", "lock", "lockupdate", "internal/redisx", "internal/wrap"},
			"metrics are described without their exporters, which are in modules of their own"},
		{"internal/exposition", []string{"internal/wrap"},
			"a text format has no dependencies but the layout of text"},
		{"internal/eventtext", nil,
			"a line of text has no dependencies"},
		{"internal/callback", nil,
			"calling a function of a user has no dependencies"},
		{"internal/keyhash", nil,
			"it hashes names"},
		{"internal/resp", nil,
			"the wire format and the texts of its errors have no dependencies"},
		{"internal/leaseclock", nil,
			"a clock depends on the standard library only"},
		{"internal/serverlimits", nil,
			"it reads a text"},
		{"internal/timewheel", nil,
			"a wheel has no owner, no clock and no Redis"},
		{"internal/wrap", nil,
			"text layout has no dependencies"},
		{"internal/cutoverstatus", []string{"cutover", "internal/exposition", "internal/htmlpage", "internal/wrap"},
			"a status is data: the command reads the stores"},
		{"internal/testing/pagetest", nil,
			"it checks the text of a page"},
		{"internal/htmlpage", []string{"internal/wrap"},
			"the layout of a page does not depend on its data"},
		{"internal/testing/entities", []string{"domains", "rmw", "rmw/rmwtest", "github.com/stretchr/testify/assert",
			"github.com/stretchr/testify/require", "pgregory.net/rapid"},
			"it knows no entity"},
		{"internal/testing/meter", nil,
			"counting has no dependencies"},
		{"internal/testing/contract", []string{"rmw", "rmw/rmwtest", "proxycompat", "proxycompat/proxytest", goRedis, miniredis},
			"putting a path into the suite needs the suite and the fake proxy, but none of the paths"},
		{"internal/testing/paths", []string{"rmw/...", "cas", "cutover", "lockupdate", "shadow", "internal/testing/contract",
			"proxycompat/...", goRedis},
			"opening each path for a test needs each path"},
		{"internal/testing/migration", nil,
			"the migration test runs commands, and uses this module in tests only"},
		{"internal/docs/domaindoc", []string{"domains/..."},
			"pages about the entities are made of the entities"},
		{"internal/testing/long", nil,
			"it skips a test"},
		{"internal/testing/unguarded", []string{goRedis},
			"a negative control removes the guard from commands, which the product never does, so it uses the client only"},
		{"internal/testing/servers/cmd/*", []string{"internal/testing/servers"},
			"starting servers for a command is all that it does"},
		{"internal/testing/servers", []string{"internal/resp"},
			"nested modules use it, so it must not pull a client into them"},
		{"internal/docs/proxydoc", []string{"proxycompat"},
			"pages about the profiles are made of the profiles"},
		{"internal/testing/archtest", nil,
			"the import test has no imports of its own"},
		{"internal/docs/doccheck", nil,
			"the document test has no imports of its own"},
	}
}
