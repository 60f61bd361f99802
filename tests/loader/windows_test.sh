#!/bin/bash
# windows_test.sh TOOL WINE: what the tool does on Windows with files, names and streams. TOOL runs it by WINE, where
# drive Z: is this machine's root.
fail() {
  echo "FAIL windows: $*"
  exit 1
}
tool=$1 wine=$2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
there="Z:${folder//\//\\}"
cd "$folder" || exit 1

# Files are named with backslashes, drives, slashes, and letters that no encoding of eight bits has together.
cat > sum.txt <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add (x, w) }
END
mkdir 'モデル é'
for model in sum.onnx "$there\\sum.onnx" "$folder/sum.onnx" 'モデル é\sum.onnx' "$there\\モデル é\\Ωж.onnx"; do
  "$tool" parse sum.txt -o "$model" || fail "parse -o '$model' ends with $?"
  [[ $("$tool" run "$model") == "y: tensor(float) (4) "* ]] || fail "run '$model': $("$tool" run "$model" 2>&1)"
done
[ -f 'モデル é/sum.onnx' ] && [ -f 'モデル é/Ωж.onnx' ] || fail "other names: $(find .)"
said=$("$tool" run 'モデル é\none.onnx' 2>&1) && fail "no file is a model"
[[ $said == 'tenon: モデル é\none.onnx: '* ]] || fail "an error names the file so: $said"
"$tool" run sum.onnx --output 'モデル é\out' > /dev/null || fail "run --output ends with $?"
[ "$(ls 'モデル é/out')" = y.npy ] || fail "outputs: $(ls 'モデル é/out')"
"$tool" run sum.onnx --input 'x=モデル é\out\y.npy' > /dev/null || fail "run --input ends with $?"
"$tool" run sum.onnx --keep-all 'моя' --profile 'моя\Ω.json' > /dev/null || fail "run --keep-all ends with $?"
[ -f моя/values.tsv ] && [ -f моя/Ω.json ] || fail "values and times: $(find .)"
"$tool" bench sum.onnx --iters 1 --save 'Ωж' > /dev/null && [ -f Ωж/output_0.pb ] || fail "bench --save: $(find .)"

# Every command that reads or writes models takes such names, and words of the command line keep their letters.
model='モデル é\Ωж.onnx'
"$tool" check "$model" --full || fail "check ends with $?"
[[ $("$tool" info "$model" --json) == *'"x"'* ]] || fail "info: $("$tool" info "$model" --json 2>&1)"
"$tool" simplify "$model" -o 'моя Ω.onnx' || fail "simplify ends with $?"
"$tool" diff "$model" 'моя Ω.onnx' || fail "diff ends with $?"
said=$("$tool" bench "$model" --iters 2 --input 'x=モデル é\out\y.npy' | tail -n 1)
[[ $said == *'"rss_mb": '[1-9]* ]] || fail "bench: $said"
said=$("$tool" run "$model" --input 'Ωж=x.npy' 2>&1) && fail "no input is an input"
[[ $said == *Ωж* ]] || fail "an error names the input so: $said"
"$tool" compile "$model" -o 'モデル é\моя Ω.hpp' --namespace sum || fail "compile ends with $?"
cat > compiled.cc <<'END'
#include "モデル é/моя Ω.hpp"

#include <cstdio>

int main() {
  alignas(64) static float x[4] = {1, 1, 1, 1}, y[4];
  static sum::Memory memory;
  sum::run({x, {4}}, {y, {4}}, memory);
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
}
END
# shellcheck disable=SC2046  # the flags are words
x86_64-w64-mingw32-g++-posix $(sed -n '2s/^\/\/ *g++//p' 'モデル é/моя Ω.hpp') -static compiled.cc -o compiled.exe ||
  fail "the compiled model is not C++"
[[ $("$wine" compiled.exe) == '2 3 4 5'* ]] || fail "the compiled model gives $("$wine" compiled.exe)"

# What is printed has the ends of lines that it has elsewhere.
[[ $("$tool" print sum.onnx) != *$'\r'* ]] || fail "print adds carriage returns"
sed 's/$/\r/' sum.txt > lines.txt
"$tool" parse lines.txt || fail "lines that end as Windows' do: $?"

# A model is replaced by what is made of it.
"$tool" convert sum.onnx --opset 22 -o sum.onnx || fail "convert in place ends with $?"
[[ $("$tool" print sum.onnx) == *'"" : 22'* ]] || fail "not converted: $("$tool" print sum.onnx)"

# Values get files of their own where names differ in case only, or are a device's.
cat > names.txt <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[1] a) => (float[1] y, float[2] Y, float[3] aux, float[4] NUL) {
   y = Identity (a)
   Y = Concat <axis = 0> (a, a)
   aux = Concat <axis = 0> (a, a, a)
   NUL = Concat <axis = 0> (a, a, a, a)
}
END
"$tool" parse names.txt -o names.onnx && "$tool" run names.onnx --output values > /dev/null || fail "values ends with $?"
[ "$(stat -c %s values/* | sort -u | wc -l)" -eq 4 ] || fail "values: $(ls -l values)"

# External data is in the model's folder, whatever its location says.
mkdir data
"$tool" parse sum.txt -o data/m.onnx --external 1 || fail "parse --external ends with $?"
"$tool" check data/m.onnx && "$tool" run data/m.onnx > /dev/null || fail "external data ends with $?"
printf '12345678abcdefgh' > w.bin
cp w.bin data/w.bin
# external LOCATION: whether a model may have its data there.
external() {
  cat > data/e.onnxtxt <<END
<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x) => (float[4] y) <float[4] w = ["location": "$1"]> { y = Add (x, w) }
END
  "$tool" parse data/e.onnxtxt -o data/e.onnx > /dev/null 2> said && "$tool" run data/e.onnx > /dev/null 2> said
}
for location in w.bin ./w.bin W.BIN; do
  external "$location" || fail "external data '$location': $(cat said)"
done
for location in ../w.bin "$folder/w.bin" /w.bin "Z:$folder/w.bin" Z:w.bin '..\\w.bin' "//localhost/z$/w.bin" w.bin. 'w.bin ' \
  'w.bin::$DATA' NUL nul.bin aux CON 'none.bin' .; do
  external "$location" && fail "external data '$location' is read"
  [[ $(cat said) == *"external data"* ]] || fail "external data '$location': $(cat said)"
done
