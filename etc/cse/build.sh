#!/bin/sh
# Puts libmongocrypt, for the driver's build tag cse, into build/cse/lib. No package of Debian 12 or 13 is new enough, and the shared
# library of its unstable suite asks for a newer C library; its static archives do not, but for one function.
#
# DEBIAN names an archive of Debian to take the packages from; by default the one that apt is configured with. Any will do, as the
# packages are taken by their hashes.
set -eu
cd "$(dirname "$0")/../.."

# What a build/cse was made of; a change makes it anew.
made=$(sha256sum etc/cse/build.sh etc/cse/packages.txt etc/cse/strlcpy.c etc/cse/libmongocrypt.pc | sha256sum)
if [ "$(cat build/cse/made 2>/dev/null)" = "$made" ]; then
	exit 0
fi

fail() {
	echo "etc/cse/build.sh: $*" >&2
	exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "the packages are for Linux on x86-64, this is $(uname -sm)"
for tool in ar cc dpkg-deb pkg-config /usr/lib/apt/apt-helper; do
	command -v "$tool" >/dev/null || fail "needs $tool; on Debian: apt-get install gcc libssl-dev pkg-config"
done
pkg-config --exists 'libcrypto >= 3' || fail "needs the headers of OpenSSL 3; on Debian: apt-get install libssl-dev"
archive=${DEBIAN:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | head -n 1)}
[ -n "$archive" ] || fail "apt knows no archive; name one of Debian's: DEBIAN=URL"

rm -rf build/cse
mkdir -p build/cse/packages build/cse/lib/include
while read -r package hash; do
	deb=build/cse/$(basename "$package")
	/usr/lib/apt/apt-helper -o APT::Sandbox::User= download-file "${archive%/}/pool/main/$package" "$deb" "SHA256:$hash" >&2 ||
		fail "no $package; DEBIAN=URL names another archive, such as one that keeps what is no longer current"
	dpkg-deb -x "$deb" build/cse/packages
	rm "$deb"
done <etc/cse/packages.txt

for library in mongocrypt-static kms_message-static bson-static-for-libmongocrypt bidgcc000; do
	mv "build/cse/packages/usr/lib/x86_64-linux-gnu/lib$library.a" build/cse/lib/
done
mv build/cse/packages/usr/include/mongocrypt/* build/cse/lib/include/
rm -r build/cse/packages
cc -Wall -Werror -c -o build/cse/strlcpy.o etc/cse/strlcpy.c
ar rcs build/cse/lib/libstrlcpy.a build/cse/strlcpy.o
cp etc/cse/libmongocrypt.pc build/cse/lib/
echo "$made" >build/cse/made
