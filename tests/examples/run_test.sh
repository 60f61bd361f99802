#!/bin/bash
# examples/run with programs in the place of g++, Bazel and Debian's that write down how they are called:
# every example is shown once, the ones that need headers alone before anything else is installed or built,
# and Bazel builds one level. Those in sharded/ need MPI and have a script of their own.
fail() {
  echo "$@"
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -rL examples loader "$work"
mkdir "$work/bin"
# program PATH: one that says what it is.
cat > "$work/bin/program" <<'END'
mkdir -p "$(dirname "$1")"
printf '#!/bin/sh\necho "%s"\n' "$2" > "$1"
chmod +x "$1"
END
cat > "$work/bin/g++" <<'END'
for last; do :; done
source=$(printf '%s\n' "$@" | grep '\.cc$')
case $source in
  examples/*) says="shows $source" ;;
  *) says=avx2 ;;
esac
program "$last" "$says"
END
cat > "$work/bin/bazel" <<'END'
echo "bazel $*"
for target; do
  case $target in
    //loader:*) program "out/bin/loader/${target#*:}" 'the tool: $1' ;;
    //examples:*) program "out/bin/examples/${target#*:}" "shows examples/${target#*:}.cc" ;;
  esac
done
END
cat > "$work/bin/dpkg-query" <<'END'
echo "asks for ${!#}" >&2
echo installed
END
sed -i '1i #!/bin/bash' "$work"/bin/*
chmod +x "$work"/bin/*
said=$(PATH=$work/bin:$PATH "$work/examples/run" 2>&1) || fail "ends with $?: $said"

sources=$(cd "$work" && find examples -name '*.cc' ! -path '*/sharded/*' | sort)
[ "$(sed -n 's/^shows //p' <<< "$said" | sort)" = "$sources" ] || fail "not every example once: $said"
before=$(sed '/^Now the tool/,$d' <<< "$said")
for source in $sources; do
  alone=yes
  grep -qE '^#include "(tenon/(loader|model|training)|digits)\.hpp"' "$work/$source" && alone=no
  grep -qx "shows $source" <<< "$before" && shown=yes || shown=no
  [ $alone = $shown ] || fail "$source: headers alone: $alone; shown before the loader is built: $shown"
done
grep 'asks for' <<< "$before" | grep -vE '(g\+\+|libxsimd-dev)$' && fail "more is installed than headers need"
grep 'bazel build' <<< "$before" && fail "Bazel comes first"
grep '^bazel build' <<< "$said" | grep -v -e ' --//loader:level=avx2 ' && fail "more than one level is built"
for command in info run compile; do
  grep -qx "the tool: $command" <<< "$said" || fail "tenon $command is not shown"
done
tail -n 1 <<< "$said" | grep -qx 'shows examples/digits/compiled.cc' || fail "digits do not come last"
