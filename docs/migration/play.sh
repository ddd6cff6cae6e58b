#!/usr/bin/env bash
# Plays the migration in this clone: after it, examples/legacy-service is as after the
# last step. "git checkout examples/legacy-service && git clean -fd examples/legacy-service"
# takes that back.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Step 1
git apply --directory=examples/legacy-service docs/migration/01-report.patch
go vet ./examples/legacy-service
go test -v ./examples/legacy-service
go run github.com/unwatch/unwatch/cmd/migrate-check -exit-zero ./examples/legacy-service/...

# Step 2
git apply --directory=examples/legacy-service docs/migration/02-single-keys.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service
go run github.com/unwatch/unwatch/cmd/migrate-check -exit-zero -traces ./examples/legacy-service/...

# Step 3
git apply --directory=examples/legacy-service docs/migration/03-poll.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service

# Step 4
git apply --directory=examples/legacy-service docs/migration/04-ask-each-queue.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service

# Step 5
git apply --directory=examples/legacy-service docs/migration/05-one-key-at-a-time.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service

# Step 6
git apply --directory=examples/legacy-service docs/migration/06-epochs.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service

# Step 7
git apply --directory=examples/legacy-service docs/migration/07-desk.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service

# Step 8
git apply --directory=examples/legacy-service docs/migration/08-lockupdate.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service

# Step 9
git apply --directory=examples/legacy-service docs/migration/09-proxy.patch
go vet ./examples/legacy-service
go test ./examples/legacy-service

