# install_packages PACKAGE...: installs the missing packages with apt; without apt, it lists them. Sourced by
# tests/run and examples/run.
install_packages() {
  local missing=() package
  if ! command -v apt-get > /dev/null; then
    echo "This system has no apt. Needed, under Debian's names: $*" >&2
    return
  fi
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" != 0 ]; then
    echo "These packages are missing; as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}" || exit 1
}

export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
needed_to_build=(bazel-bootstrap g++ libxsimd-dev libprotobuf-dev protobuf-compiler libre2-dev
  libjpeg-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev zlib1g-dev)
