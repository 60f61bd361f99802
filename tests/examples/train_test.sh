#!/bin/bash
# The training of examples/train: the loss falls, the images held out are read, and the model that it saves is
# one that the tool checks, runs, and goes on training.
fail() {
  echo "$@"
  exit 1
}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
said=$(examples/train "$folder/trained.onnx") || fail "train ends with $?: $said"
awk '
  /^epoch/ { loss = $NF; if (!first) first = loss }
  / right$/ { held_out = $(NF - 8) }
  END { exit !(first > 1 && loss < 0.1 && held_out > 85) }' <<< "$said" || fail "$said"

tool=loader/tenon
$tool check --full "$folder/trained.onnx" || fail "check ends with $?"
digits=examples/digits
again=$($tool train "$folder/trained.onnx" --no-init --steps 20 --input image=$digits/images.npy \
  --input label=$digits/labels.npy -o "$folder/more.onnx") || fail "tenon train ends with $?: $again"
[ "$(wc -l <<< "$again")" -eq 20 ] || fail "$again"
awk '{ loss = $NF; if (!first) first = loss } END { exit !(first < 1 && loss < first) }' <<< "$again" || fail "$again"
mkdir "$folder/batch"
cp $digits/images.npy "$folder/batch/image.npy"
cp $digits/labels.npy "$folder/batch/label.npy"
same=$($tool train "$folder/trained.onnx" --no-init --steps 20 --data "$folder/batch" --algorithm 0) ||
  fail "tenon train --data ends with $?"
[ "$same" = "$again" ] || fail "$same"
restarted=$($tool train "$folder/trained.onnx" --steps 1 --data "$folder/batch") || fail "tenon train ends with $?"
awk '{ exit !($NF > 1) }' <<< "$restarted" || fail "$restarted"

while IFS='|' read -r arguments says; do
  said=$($tool train $arguments 2>&1) && fail "$arguments is not refused"
  [[ $said == *$says* ]] || fail "$arguments: $said"
done << END
$digits/digits.onnx --steps 1|no training information
$folder/trained.onnx --steps 1|is missing
$folder/trained.onnx --steps 1 --algorithm 1|there is no stage 1
$folder/trained.onnx --steps 1 --input none=$digits/images.npy|no input 'none'
$folder/trained.onnx --steps x|takes a number
$folder/trained.onnx --steps 1 --data $folder/none|not a folder
--steps 1|needs a model
END
