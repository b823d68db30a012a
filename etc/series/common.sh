# What fixes.sh, series.sh and layers.sh share. They are in the repository's root when they read it.
root=$PWD
# With the flags of make, which has -trimpath, all trees share what is compiled of the same files.
export GOFLAGS="${GOFLAGS:--trimpath} -mod=readonly" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_COMMITTER_NAME=mongofork GIT_COMMITTER_EMAIL=mongofork@localhost
vetted=(-composites=false -lostcancel=false) # upstream's own tests do not pass these two checks

committed() { # FOLDER: upstream's tree as a repository in a new folder, in which the shell goes on
	rm -rf "$1"
	mkdir -p "$(dirname "$1")"
	cp -r "build/pristine/$BASE" "$1"
	cd "$1"
	git init --quiet
	git add --all --force
	git commit --quiet --author="$GIT_COMMITTER_NAME <$GIT_COMMITTER_EMAIL>" --message=upstream
	git tag upstream
}

tested() { # PACKAGE...: the tests of packages of the tree in this folder, which the rig provides with what they need
	(cd "$root" && go run ./tools/cmd/rig packages "$tree" "$@") >.git/tests 2>&1 || { cat .git/tests; false; }
}

formatted() { # FILE...: what upstream's tasks check-fmt and check-license check of Go files
	local unformatted file
	unformatted=$(go run "$GOFUMPT" -l "$@")
	[ -z "$unformatted" ] || { echo "not formatted: $unformatted"; false; }
	for file in "$@"; do
		bash etc/check_license.sh "$file"
		if [[ $file == *_examples_test.go ]] && expand -t 4 "$file" | grep -vE '^ *//(.+://| Output:)' | grep -E '.{81}'; then
			echo "$file: lines of examples have at most 80 columns"
			false
		fi
	done
}

lint() { # PACKAGE OR FLAG...: what upstream's linters find that is new
	go run "$GOLANGCI_LINT" run --new-from-rev=upstream --show-stats=false --allow-parallel-runners --max-issues-per-linter=0 \
		--max-same-issues=0 "$@"
}
