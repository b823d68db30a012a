#!/bin/sh
# Tests the fork in build/$BASE with the build tag cse, on the server that MONGODB_URI names, with the specification's tests that
# PROJECT_DIRECTORY has: the fork's own tests, and those of upstream's that need neither MongoDB Enterprise, for query analysis, nor an
# account with a key management service. "make test-cse" calls it.
set -eu
cd "$(dirname "$0")/../.."

# The files of the specification of which tests can run.
files="addKeyAltName createDataKey-kms_providers-invalid createDataKey deleteKey getKey getKeyByAltName getKeys keyCache
removeKeyAltName rewrapManyDataKey-decrypt_failure rewrapManyDataKey-encrypt_failure"

export PKG_CONFIG_PATH="$PWD/build/cse/lib"

# Upstream's runner wants these, even if nobody is asked who they are.
export FLE_AWS_KEY=none FLE_AWS_SECRET=none FLE_AZURE_TENANTID=none FLE_AZURE_CLIENTID=none FLE_AZURE_CLIENTSECRET=none
export FLE_GCP_EMAIL=none FLE_GCP_PRIVATEKEY=bm9uZQ==

tests() {
	go -C "build/$BASE" test -tags cse -count=1 -timeout 5m "$@"
}
tests ./x/mongo/driver/mongocrypt/...
tests -run 'Encryption|KeyVault|CollectionInfo' ./mongo

log=build/cse/unified.log
any=$(echo $files | tr ' ' '|')
folder='^TestUnifiedSpec$/^client-side-encryption$/^tests$/^unified$'
if ! tests -v -run "$folder/^($any).json$" -skip "$folder/^createDataKey.json$/_(AWS|Azure|GCP|KMIP)_" ./internal/integration/unified >"$log"; then
	grep -v -- '--- PASS' "$log"
	exit 1
fi
for file in $files; do
	grep -q -- "--- PASS: .*/$file.json/" "$log" || {
		echo "etc/cse/test.sh: no test of $file.json passed; $log has the output" >&2
		exit 1
	}
done
echo "$(grep -c -- '--- PASS: .*\.json/' "$log") tests of the specification passed"
