# Which package brings what scripts/bootstrap and scripts/bench-peers look for, for each package
# manager, and how it is installed. Sourced, not run.

have() { command -v "$1" >/dev/null 2>&1; }

package_manager() {
  for manager in apt-get dnf pacman apk; do
    if command -v "$manager" >/dev/null 2>&1; then echo "$manager"; return 0; fi
  done
  return 1
}

# One package name, or nothing where the thing comes with another or cannot be had.
package_for() { # package_for MANAGER WHAT
  case $1:$2 in
    *:bwrap) echo bubblewrap ;;
    *:git) echo git ;;
    *:firejail) echo firejail ;;
    apt-get:nats-server | apk:nats-server | dnf:nats-server) echo nats-server ;;
    *:chromium) echo chromium ;;
    *:ccache) echo ccache ;;
    apt-get:gh | dnf:gh) echo gh ;;
    *:gh) echo github-cli ;;
    *:skopeo) echo skopeo ;;
    apt-get:python3:* | dnf:python3:*) echo "python3-${2#python3:}" ;;
    apk:python3:*) echo "py3-${2#python3:}" ;;
    pacman:python3:*) echo "python-${2#python3:}" ;;
    *:docker-registry) echo docker-registry ;;
    apt-get:redis-server) echo redis-server ;;
    *:redis-server) echo redis ;;
    dnf:postgres) echo postgresql-server ;;
    *:psql | *:postgres) echo postgresql ;;
    dnf:ip) echo iproute ;;
    *:ip) echo iproute2 ;;
    *:cmake) echo cmake ;;

    apt-get:compiler) echo g++ ;;
    dnf:compiler) echo gcc-c++ ;;
    pacman:compiler) echo gcc ;;
    apk:compiler) echo g++ ;;

    apt-get:ninja | dnf:ninja) echo ninja-build ;;
    pacman:ninja) echo ninja ;;
    apk:ninja) echo samurai ;;

    apt-get:pkg-config) echo pkg-config ;;
    dnf:pkg-config) echo pkgconf-pkg-config ;;
    pacman:pkg-config | apk:pkg-config) echo pkgconf ;;

    apt-get:static-libc) echo libc6-dev ;;
    dnf:static-libc) echo glibc-static ;;
    dnf:static-libstdc++) echo libstdc++-static ;;
    apk:static-libc) echo musl-dev ;;

    apt-get:linux-headers) echo linux-libc-dev ;;
    dnf:linux-headers) echo kernel-headers ;;
    pacman:linux-headers) echo linux-api-headers ;;
    apk:linux-headers) echo linux-headers ;;

    apt-get:libseccomp | apk:libseccomp) echo libseccomp-dev ;;
    dnf:libseccomp) echo libseccomp-devel ;;
    pacman:libseccomp) echo libseccomp ;;

    apt-get:gtest) echo libgtest-dev ;;
    dnf:gtest) echo gtest-devel ;;
    pacman:gtest) echo gtest ;;
    apk:gtest) echo gtest-dev ;;

    # Fedora's has no C++ library with it.
    apt-get:arm64-compiler) echo g++-aarch64-linux-gnu ;;
    apt-get:qemu-aarch64-static) echo qemu-user-static ;;

    # Only for the distribution's own node; another one brings its headers along.
    *:node-headers) distribution_node_headers "$1" ;;

    *:clang) echo clang ;;
    apt-get:clang-tidy) echo clang-tidy ;;
    apt-get:clang-format) echo clang-format ;;
    dnf:clang-tidy | dnf:clang-format) echo clang-tools-extra ;;
    pacman:clang-tidy | pacman:clang-format) echo clang ;;
    apk:clang-tidy | apk:clang-format) echo clang-extra-tools ;;
    apt-get:fuzzer-runtime) echo libclang-rt-dev ;;
    *:fuzzer-runtime) echo compiler-rt ;;
    dnf:asan) echo libasan ;;
    dnf:tsan) echo libtsan ;;
    dnf:ubsan) echo libubsan ;;

    # For the tests: in a root file system without libraries it has to be a static one.
    apt-get:busybox | apk:busybox) echo busybox-static ;;
    *:busybox) echo busybox ;;
    *:git-lfs) echo git-lfs ;;
    *:debootstrap) echo debootstrap ;;

    *:socat) echo socat ;;
    *:rg) echo ripgrep ;;
    # For the tests only: skills are built from C where these can be had.
    dnf:wasi-libc) echo wasi-libc-devel ;;
    apt-get:wasi-libc | pacman:wasi-libc | apk:wasi-libc) echo wasi-libc ;;
    *:wasm-linker) echo lld ;;
    apt-get:wasi-runtime) echo libclang-rt-dev-wasm32 ;;
    pacman:wasi-runtime | apk:wasi-runtime) echo wasi-compiler-rt ;;
    dnf:wasi-runtime) echo wasi-libc-static ;;
  esac
}

distribution_node_headers() {
  [ "$(node -p process.execPath)" = /usr/bin/node ] || return 0
  case $1 in
    apt-get) echo libnode-dev ;;
    dnf) echo nodejs-devel ;;
    apk) echo nodejs-dev ;;
  esac
}

packages_for() { # packages_for MANAGER WHAT...
  for_manager=$1
  shift
  for what in "$@"; do package_for "$for_manager" "$what"; done | sort -u | tr '\n' ' ' | sed 's/ $//'
}

install_command() { # install_command MANAGER PACKAGES
  case $1 in
    apt-get) echo "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $2" ;;
    dnf) echo "dnf install -y $2" ;;
    pacman)
      # A fresh image has no package database yet; elsewhere -Sy without -u would half-upgrade.
      if [ -e /var/lib/pacman/sync/core.db ]; then echo "pacman -S --needed --noconfirm $2"
      else echo "pacman -Sy --needed --noconfirm $2"; fi ;;
    apk) echo "apk add $2" ;;
  esac
}

as_root() {
  if [ "$(id -u)" = 0 ]; then sh -c "$1"
  elif have sudo && [ -t 0 ]; then sudo sh -c "$1"
  elif have sudo; then sudo -n sh -c "$1"
  elif have doas; then doas sh -c "$1"
  else return 1
  fi
}
