#!/usr/bin/env bash
# Probes each address and fails unless it answers as its profile says:
#
#	probe.sh PROFILE=HOST:PORT...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for what in "$@"; do
	go run ./cmd/migrate-check probe "${what#*=}" -profile "${what%%=*}"
done
