#!/bin/sh
# Installs Reasonix for this user on Linux and macOS, without sudo:
#
#   curl -fsSL ADDRESS/install.sh | sh
#   curl -fsSL ADDRESS/install.sh | sh -s -- --uninstall
#
# REASONIX_VERSION    version to install; default: the latest
# REASONIX_BASE_URL   mirror of the releases: /latest holds a version, /vVERSION/ the files of that release
#
# The command is ~/.local/bin/reasonix, the program is in ~/.local/share/reasonix. No downloaded file is executed
# before its checksum and the signature over the checksums are verified with the key below.
# The last line starts it all, so that an incomplete copy of this script does nothing.

repository='@unset-repository'
public_key='@unset-public-key'

main() {
  set -u
  umask 022
  LC_ALL=C
  export LC_ALL
  [ -n "${HOME-}" ] || fail 'Cannot determine your home directory; set HOME'
  root=$HOME/.local/share/reasonix
  versions=$root/versions
  command=$HOME/.local/bin/reasonix
  scratch='' staged='' made='' download=''
  case ${1-} in
    '') install_program ;;
    --uninstall) uninstall_program ;;
    --help | -h) printf 'Usage: sh install.sh [--uninstall]\n' ;;
    *) fail "Cannot use the argument $1; the only one is --uninstall" ;;
  esac
}

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

install_program() {
  target=$(system_target) || exit
  refuse_other_command
  base=$(release_base) || exit
  version=${REASONIX_VERSION-}
  version=${version#v}
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/reasonix.XXXXXX" 2>/dev/null) ||
    fail "Cannot write to ${TMPDIR:-/tmp}; free space there, or set TMPDIR to a writable directory"
  [ -n "$version" ] || version=$(latest_version) || exit
  is_version "$version" || fail "Cannot install the version '$version'; give one of the form 1.2.3"
  case $base in
    https://github.com/*) directory=$base/download/v$version ;;
    *) directory=$base/v$version ;;
  esac
  fetch "$directory/SHA256SUMS" "$scratch/SHA256SUMS"
  fetch "$directory/SHA256SUMS.minisig" "$scratch/SHA256SUMS.minisig"
  verify_sums
  [ -n "${REASONIX_VERSION-}" ] || refuse_older
  put_program
  start_program
}

# The runtime exists for glibc and macOS, on 64-bit x86 and ARM.
system_target() {
  system=$(uname -s)
  machine=$(uname -m)
  case $system in
    Linux | Darwin) ;;
    MINGW* | MSYS* | CYGWIN* | Windows*) fail 'Cannot install on Windows with this script; use install.ps1 in PowerShell' ;;
    *) fail "Cannot install on $system: the runtime exists for Linux, macOS and Windows only" ;;
  esac
  case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "Cannot install on the processor $machine: the runtime exists for x86_64 and arm64 only" ;;
  esac
  if [ "$system" = Darwin ]; then
    # A shell of x86_64 on a processor of Apple.
    [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || machine=aarch64
    printf '%s\n' "$machine-apple-darwin"
    return
  fi
  [ "$(uname -o 2>/dev/null)" != Android ] ||
    fail 'Cannot install on Android: the runtime needs glibc; use a Debian or Ubuntu in proot'
  [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" != 32 ] ||
    fail 'Cannot install on a 32-bit system: the runtime exists for 64-bit systems only'
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=''
  case $libc in
    'glibc '*) refuse_old_libc "${libc#glibc }" ;;
    *)
      if ldd --version 2>&1 | grep -qi musl || ls /lib/ld-musl-* >/dev/null 2>&1; then
        fail 'Cannot install on a system with musl, such as Alpine: the runtime needs glibc; use a Debian or Ubuntu'
      fi
      ;;
  esac
  printf '%s\n' "$machine-unknown-linux-gnu"
}

refuse_old_libc() {
  minor=${1#*.}
  minor=${minor%%.*}
  case ${1%%.*}.$minor in
    [01].* | 2.[0-9] | 2.1[0-9] | 2.2[0-6])
      fail "Cannot install on a system with glibc $1: the runtime needs 2.27 or newer; update the system"
      ;;
  esac
}

refuse_other_command() {
  if [ ! -e "$command" ] && [ ! -L "$command" ]; then return; fi
  is_ours "$command" || fail "Cannot replace $command: it belongs to another program; remove or rename it"
}

# shellcheck disable=SC2016 # the text has backquotes
is_ours() {
  [ -f "$1" ] && sed -n 2p "$1" 2>/dev/null | grep -q 'Written by `reasonix install`'
}

release_base() {
  base=${REASONIX_BASE_URL-}
  case $base in
    '')
      case $repository in
        @unset*) fail 'Cannot determine where the releases are: this copy names no repository; set REASONIX_BASE_URL' ;;
      esac
      printf 'https://github.com/%s/releases\n' "$repository"
      ;;
    *[!A-Za-z0-9:/.%_~@+=,-]*) fail "Cannot use REASONIX_BASE_URL: $base is not the address of a directory" ;;
    http://* | https://* | file://*) printf '%s\n' "${base%/}" ;;
    *) fail "Cannot use REASONIX_BASE_URL: $base does not begin with https://, http:// or file://" ;;
  esac
}

# The answer is a text with the version or, from GitHub, a redirect to the page of its tag.
latest_version() {
  if has curl; then
    found=$(curl -fsSL --connect-timeout 30 --max-time 120 -o "$scratch/latest" -w '%{url_effective}' "$base/latest" \
      2>"$scratch/reason")
  elif has wget; then
    found=$(wget -S -O "$scratch/latest" "$base/latest" 2>&1 | sed -n 's/^ *[Ll]ocation: *\([^ ]*\).*/\1/p' | sed -n '$p')
  else
    fail 'Cannot download: neither curl nor wget is installed; install one of them'
  fi
  case $found in
    */tag/v*) found=${found##*/tag/v} ;;
    *) found=$(sed -n 1p "$scratch/latest" 2>/dev/null | tr -d '\r') ;;
  esac
  is_version "$found" ||
    fail "Cannot determine the latest version at $base/latest; check the network, or set REASONIX_VERSION"
  printf '%s\n' "$found"
}

is_version() {
  printf '%s\n' "$1" | grep -Eq '^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$'
}

# fetch ADDRESS FILE; in the background, since a shell does not answer signals while it waits for a program
fetch() {
  if has curl; then
    curl -fsSL --connect-timeout 30 --speed-limit 1 --speed-time 60 -o "$2" "$1" 2>"$scratch/reason" &
    finish_download
    [ "$status" != 23 ] || fail_to_write "$2"
  elif has wget; then
    # The wget of BusyBox knows neither.
    limits=''
    ! wget --help 2>&1 | grep -q -e --tries || limits='--tries=2 --timeout=60'
    # shellcheck disable=SC2086 # words
    wget -q $limits -O "$2" "$1" 2>"$scratch/reason" &
    finish_download
    [ "$status" != 3 ] || fail_to_write "$2"
  else
    fail 'Cannot download: neither curl nor wget is installed; install one of them'
  fi
  [ "$status" = 0 ] && return
  ! grep -q -i -e 'no space left' -e 'short write' "$scratch/reason" || fail_to_write "$2"
  reason=$(sed -n '$p' "$scratch/reason" | sed 's/^curl: //; s/^wget: //')
  fail "Cannot fetch $1: ${reason:-exit code $status}; check the network and the address. Nothing was installed"
}

finish_download() {
  download=$!
  wait "$download"
  status=$?
  download=''
}

fail_to_write() {
  fail "Cannot write $1; free 200 MB there, or make it writable. Nothing was installed"
}

sha256() {
  if has sha256sum; then
    sha256sum <"$1" | cut -c 1-64
  elif has shasum; then
    shasum -a 256 <"$1" | cut -c 1-64
  elif has openssl; then
    openssl dgst -sha256 -r <"$1" | cut -c 1-64
  else
    fail 'Cannot compute a SHA-256; install sha256sum, shasum or openssl'
  fi
}

# Verifies SHA256SUMS, and that it was signed for this very version: old signatures are valid for ever.
verify_sums() {
  case $public_key in
    @unset*) fail 'Cannot verify the release: this copy of the script has no public key; use the one of a release' ;;
  esac
  comment=$(sed -n 3p "$scratch/SHA256SUMS.minisig")
  if has minisign; then
    minisign -Vq -P "$public_key" -m "$scratch/SHA256SUMS" -x "$scratch/SHA256SUMS.minisig" >/dev/null 2>&1 || distrust
  elif can_verify; then
    verify_with_openssl || distrust
  else
    fail 'Cannot verify the signature of the release; install minisign, or OpenSSL 3 (macOS: brew install minisign)'
  fi
  [ "$comment" = "trusted comment: reasonix $version" ] ||
    fail "Cannot trust $directory: its signature is one for '${comment#trusted comment: }', not for 'reasonix $version'"
}

distrust() {
  fail "Cannot trust $directory/SHA256SUMS: its signature is missing or wrong. Nothing was installed; try again later"
}

# LibreSSL has neither of the two.
can_verify() {
  has openssl && openssl dgst -blake2b512 </dev/null >/dev/null 2>&1 &&
    openssl pkeyutl -help 2>&1 | grep -q -e -rawin
}

# A signature of minisign: a line of 2 bytes of algorithm, 8 of key, 64 of Ed25519 over the BLAKE2b-512 of the
# file; after the trusted comment a line of 64 bytes over the first signature and the comment.
verify_with_openssl() {
  printf '%s' "$public_key" | openssl base64 -d -A >"$scratch/key" 2>/dev/null
  sed -n 2p "$scratch/SHA256SUMS.minisig" | tr -d '\n' | openssl base64 -d -A >"$scratch/line" 2>/dev/null
  sed -n 4p "$scratch/SHA256SUMS.minisig" | tr -d '\n' | openssl base64 -d -A >"$scratch/global" 2>/dev/null
  [ "$(size "$scratch/key") $(size "$scratch/line") $(size "$scratch/global")" = '42 74 64' ] || return 1
  [ "$(bytes "$scratch/key" 0 2)" = 4564 ] || return 1
  [ "$(bytes "$scratch/line" 0 2)" = 4544 ] || return 1
  [ "$(bytes "$scratch/line" 2 8)" = "$(bytes "$scratch/key" 2 8)" ] || return 1
  case $comment in 'trusted comment: '*) ;; *) return 1 ;; esac
  {
    printf '\060\052\060\005\006\003\053\145\160\003\041\000'
    tail -c +11 "$scratch/key"
  } >"$scratch/key.der"
  tail -c +11 "$scratch/line" >"$scratch/signature"
  openssl dgst -blake2b512 -binary <"$scratch/SHA256SUMS" >"$scratch/digest"
  {
    cat "$scratch/signature"
    printf '%s' "${comment#trusted comment: }"
  } >"$scratch/commented"
  is_signed "$scratch/digest" "$scratch/signature" && is_signed "$scratch/commented" "$scratch/global"
}

is_signed() {
  openssl pkeyutl -verify -pubin -keyform DER -inkey "$scratch/key.der" -rawin -in "$1" -sigfile "$2" >/dev/null 2>&1
}

size() {
  wc -c <"$1" | tr -d ' '
}

# bytes FILE OFFSET COUNT, in hexadecimal
bytes() {
  od -An -tx1 -j "$2" -N "$3" "$1" | tr -d ' \n'
}

# A server that offers an old release as the latest would bring its faults back.
refuse_older() {
  is_ours "$command" || return 0
  installed=$(sed -n 's|.*/reasonix/versions/\([0-9][^/+]*\)+[0-9a-f]*/.*|\1|p' "$command" | sed -n 1p)
  [ -n "$installed" ] && is_older "$version" "$installed" || return 0
  fail "Cannot install $version: $installed, which is newer, is installed; to go back, set REASONIX_VERSION=$version"
}

# is_older A B: the order of versions (SemVer 2)
is_older() {
  printf '%s\n%s\n' "$1" "$2" | awk '
    function part(text, at, all) { return split(text, all, ".") < at ? "" : all[at] }
    function order(a, b, count, at, x, y) {
      for (at = 1; at <= count; at++) {
        x = part(a, at); y = part(b, at)
        if (x == y) continue
        if (x == "" || y == "") return x == "" ? -1 : 1
        if (x ~ /^[0-9]+$/ && y ~ /^[0-9]+$/) return x + 0 < y + 0 ? -1 : 1
        if (x ~ /^[0-9]+$/ || y ~ /^[0-9]+$/) return x ~ /^[0-9]+$/ ? -1 : 1
        return x < y ? -1 : 1
      }
      return 0
    }
    { core[NR] = $0; sub(/-.*/, "", core[NR]); name[NR] = substr($0, length(core[NR]) + 2) }
    END {
      result = order(core[1], core[2], 3)
      if (result == 0 && name[1] != name[2]) {
        if (name[1] == "" || name[2] == "") result = name[1] == "" ? 1 : -1
        else result = order(name[1], name[2], 9)
      }
      exit result < 0 ? 0 : 1
    }'
}

# Puts the verified program into the directory of its version, which gets its name when it is complete.
put_program() {
  file=reasonix-$target
  wanted=$(awk -v file="$file" '$2 == file { print $1 }' "$scratch/SHA256SUMS")
  [ "${#wanted}" = 64 ] || fail "Cannot find $file in $directory/SHA256SUMS; choose another REASONIX_VERSION"
  place=$versions/$version+$(sha256 "$scratch/SHA256SUMS" | cut -c 1-8)
  if [ -f "$place/reasonix" ] && [ "$(sha256 "$place/reasonix")" = "$wanted" ]; then return; fi
  make_directory "$versions" || fail_to_write "$versions"
  for left in "$versions"/.new-*; do
    # A script that was killed has left it.
    case ${left##*.new-} in *[!0-9]*) ;; *) kill -0 "${left##*.new-}" 2>/dev/null || rm -rf "$left" ;; esac
  done
  staged=$versions/.new-$$
  mkdir "$staged" || fail_to_write "$staged"
  printf 'Downloading %s %s\n' "$file" "$version"
  fetch "$directory/$file" "$staged/reasonix"
  [ "$(sha256 "$staged/reasonix")" = "$wanted" ] ||
    fail "Cannot use $directory/$file: its SHA-256 is not the one of the release. Nothing was installed; try again"
  from=''
  [ -z "${REASONIX_BASE_URL-}" ] || from=",\"from\":\"$base\""
  { printf '{"channel":"script"%s}\n' "$from" >"$staged/channel.json" && chmod 755 "$staged/reasonix"; } 2>/dev/null ||
    fail_to_write "$staged"
  rm -rf "$place"
  mv "$staged" "$place" || fail_to_write "$place"
  staged=$place
}

# Has the program write its command: that also shows that it starts here.
start_program() {
  "$versions/${place##*/}/reasonix" install </dev/null ||
    fail "The program reasonix-$target cannot be installed here: see above. Nothing was changed"
  staged='' made=''
}

# make_directory PATH, with its parents; remembers those that it made
make_directory() {
  [ -d "$1" ] && return
  make_directory "${1%/*}" || return
  mkdir "$1" 2>/dev/null || return
  made="$1
$made"
}

# shellcheck disable=SC2317 # the traps call it
clean_up() {
  code=$?
  [ -z "$download" ] || kill "$download" 2>/dev/null
  [ -z "$staged" ] || rm -rf "$staged"
  [ -z "$scratch" ] || rm -rf "$scratch"
  printf '%s' "$made" | while read -r directory; do rmdir "$directory" 2>/dev/null || break; done
  exit "$code"
}

uninstall_program() {
  if [ ! -e "$command" ] && [ ! -L "$command" ] && [ ! -d "$root" ]; then
    fail "Cannot find $command: nothing is installed there"
  fi
  refuse_other_command
  rm -f "$command" || fail "Cannot remove $command; make its directory writable"
  other=${DENO_INSTALL_ROOT:-$HOME/.deno}/bin/reasonix
  if [ ! -f "$other" ] || ! grep -q -F "$versions/" "$other"; then
    rm -rf "$root" || fail "Cannot remove $root; make it writable"
  fi
  printf 'Removed %s\n' "$command"
  data=${REASONIX_HOME:-$HOME/.reasonix}
  [ ! -e "$data" ] ||
    printf 'Configuration, keys and sessions remain in %s. To remove them too: rm -r %s\n' "$data" "$data"
}

{
  main "$@"
  exit
}
