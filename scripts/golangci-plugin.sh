#!/usr/bin/env bash
# Builds golangci-lint with the plugin migratecheck, as `golangci-lint custom` does, runs it
# over the legacy example and fails unless it finds there what migrate-check finds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# The program of the version that make lint runs, plus one import. Its go.mod asks for the
# same dependencies, so that the build cache of make lint has nearly all of it.
lint=github.com/golangci/golangci-lint/v2
cd "$root"
go mod download -modfile=tools/go.mod "$lint"
from=$(go list -m -modfile=tools/go.mod -f '{{.Dir}}' "$lint")
cp "$from"/cmd/golangci-lint/*.go "$made"
chmod u+w "$made"/*.go
rm -f "$made"/*_test.go
printf 'package main\n\nimport _ "github.com/unwatch/unwatch/cmd/migrate-check/golangci"\n' >"$made/plugin.go"
cp tools/go.mod "$made/go.mod"
sort -u tools/go.sum go.sum >"$made/go.sum"
cd "$made"
go mod edit -module example.com/custom-gcl -droptool "$lint/cmd/golangci-lint" \
	-require github.com/unwatch/unwatch@v0.0.0 -replace "github.com/unwatch/unwatch=$root"
go build -mod=mod -o custom-gcl .

cat >golangci.yml <<'YML'
version: "2"
linters:
  default: none
  enable: [migratecheck]
  settings:
    custom:
      migratecheck:
        type: module
        settings:
          rules: MC1,MC2
          profile: codis@3.2
issues:
  max-same-issues: 0
  max-issues-per-linter: 0
  uniq-by-line: false
YML
cd "$root/examples/legacy-service"
"$made/custom-gcl" run --config "$made/golangci.yml" --path-mode=abs --issues-exit-code 0 \
	--output.text.print-issued-lines=false --output.text.path stdout ./... |
	sed -nE "s|^$root/([^:]+:[0-9]+:[0-9]+): .*\((MC[0-9]+)\) .*|\1 \2|p" | sort >"$made/plugin"
cd "$root"
{ go run ./cmd/migrate-check -format json -rules MC1,MC2 -profile codis@3.2 -lexical none -exit-zero ./examples/legacy-service/... |
	sed -nE 's/.*"rule":"(MC[0-9]+)".*"path":"([^"]+)","line":([0-9]+),"column":([0-9]+).*/\2:\3:\4 \1/p'; } | sort >"$made/alone"
if ! [ -s "$made/alone" ] || ! diff "$made/alone" "$made/plugin"; then
	echo "golangci-lint with the plugin does not find what migrate-check finds" >&2
	exit 1
fi
echo "golangci-lint with the plugin finds what migrate-check finds: $(wc -l <"$made/alone") findings"
