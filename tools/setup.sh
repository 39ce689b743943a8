# Shared by ./quickstart and ./test, which source it: installs Debian packages that are missing and
# configures build folders. Expects the project's folder as working directory.

build_packages=(g++ cmake ninja-build libboost-json1.81-dev libcli11-dev libutf8proc-dev libflac-dev
  libogg-dev zlib1g-dev)

say() { printf '%s\n' "$*"; }

# missing_packages NAME...: those that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" == installed ]] ||
      printf '%s\n' "$package"
  done
}

# as_root COMMAND...: directly where we are root, by sudo otherwise.
as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "This needs root: run it as root, or install sudo: $*" >&2
    return 1
  fi
}

# need_packages NAME...: installs what is missing; touches neither apt nor the network otherwise.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "No dpkg here: the equivalents of these Debian packages have to be there: $*"
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if [[ ${#missing[@]} -eq 0 ]]; then
    return 0
  fi
  say "Installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
      "${missing[@]}"; } </dev/null >"$log" 2>&1; then
    tail -n 25 "$log" >&2
    rm -f "$log"
    say "The packages could not be installed: ${missing[*]}" >&2
    return 1
  fi
  rm -f "$log"
}

# configure PRESET [FLAG...]: a build folder that another checkout left behind is made anew.
configure() {
  local preset=$1 cache=build/$1/CMakeCache.txt
  shift
  if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
    say "build/$preset belongs to another folder: starting it anew"
    rm -rf "build/$preset"
  fi
  cmake --preset "$preset" "$@"
}
