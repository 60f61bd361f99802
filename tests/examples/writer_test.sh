#!/bin/bash
# The training of examples/writer: the loss falls within a few steps, and the model that it saves, like the one
# in the tree, is one that the tool checks. Both are the same but for their weights.
fail() {
  echo "$@"
  exit 1
}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
said=$(examples/writer/train 12 "$folder/writer.onnx") || fail "train ends with $?: $said"
awk '
  /^step/ { loss = $NF; if (!first) first = loss }
  /held out/ { held_out = $NF }
  END { exit !(first > 3.5 && loss < first && held_out < 3.5) }' <<< "$said" || fail "$said"

tool=loader/tenon
for model in "$folder/writer.onnx" examples/writer/writer.onnx; do
  $tool check --full "$model" || fail "$model: check ends with $?"
  [ "$(wc -c < "$model")" -lt 300000 ] || fail "$model has $(wc -c < "$model") bytes"
  $tool print "$model" | sed 's/_half = {.*/_half/' > "$folder/$(dirname "$model" | tr -c 'a-z\n' _).txt"
done
[ "$(md5sum < "$folder"/examples_writer.txt)" = "$(cat "$folder"/*tmp*.txt | md5sum)" ] || fail "writer.onnx is not what train saves"
