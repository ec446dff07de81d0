# What the scripts share; sourced, never run. It holds the one list of the Debian packages that Hamlyn needs:
# docs/dependencies.md says why each is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(
  build-essential cmake ninja-build pkg-config
  libfmt-dev libcli11-dev libspdlog-dev libtomlplusplus-dev nlohmann-json3-dev libsodium-dev libxxhash-dev libfabric-dev
)
test_packages=(
  "${build_packages[@]}" binutils clang-format-14 clang-tidy-14 file fuse3 iproute2 libfuse3-dev libgtest-dev python3 spin
)
# What the tests use to run on a big-endian machine; without them that one test is skipped.
big_endian_packages=(
  g++-s390x-linux-gnu qemu-user
)
# The tools that make packages and take them apart are in build-essential's dpkg-dev.
package_packages=(
  "${build_packages[@]}" file python3
)
# clang with libFuzzer and the sanitizers; only scripts/fuzz installs them.
fuzz_packages=(
  "${build_packages[@]}" clang-14 libclang-rt-14-dev libgtest-dev llvm-14
)
# The peers that `hamlyn-bench --peers` measures beside us; only scripts/bench installs them.
bench_packages=(
  "${build_packages[@]}" libopenmpi-dev openmpi-bin ucx-utils libucx-dev
  capnproto libcapnp-dev libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc
)
# callgrind, which counts instructions; only scripts/count installs it.
count_packages=(
  "${build_packages[@]}" valgrind
)

fail() {
  echo "error: $*" >&2
  exit 1
}

# install PACKAGE...: installs those that are missing, and touches nothing when none is.
install() {
  local package missing=()
  if ! command -v dpkg-query >/dev/null; then
    echo "note: this is no Debian system; what is needed is what these packages hold: $*" >&2
    return
  fi
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  local as_root=(env DEBIAN_FRONTEND=noninteractive)
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "these packages are missing; ask root to run: apt-get install ${missing[*]}"
    as_root=(sudo "${as_root[@]}")
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq ||
    fail "apt-get update failed; without a network, install these packages by hand: ${missing[*]}"
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install: ${missing[*]} (is there a network, and does the system know a mirror?)"
}

# build PRESET [CMAKE-OPTION...]: configures and builds; the result is in build/PRESET.
build() {
  local preset=$1
  shift
  # A compiler cache is used where there is one, and not missed where there is none.
  if [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    export CCACHE_SLOPPINESS=pch_defines,time_macros
  fi
  cmake --preset "$preset" "$@" >/dev/null || fail "cmake cannot configure the preset $preset"
  cmake --build "build/$preset" || fail "the $preset build failed"
}
