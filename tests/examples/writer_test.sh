#!/bin/bash
# The training of examples/writer: the loss falls within a few steps, and the model that it saves is one that
# the tool checks. The model in the tree differs from it in its weights only.
fail() {
  echo "$@"
  exit 1
}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
said=$(examples/writer/train 12 "$folder/writer.onnx") || fail "train ends with $?: $said"
awk '
  /^step/ { loss = $NF; if (!first) first = loss }
  END { exit !(first > 3.5 && loss < first - 0.3) }' <<< "$said" || fail "$said"

tool=loader/tenon written=examples/writer/writer.onnx
[ "$(wc -c < $written)" -lt 300000 ] || fail "$written has $(wc -c < $written) bytes"
for model in "$folder/writer.onnx" $written; do
  $tool check --full "$model" || fail "$model: check ends with $?"
done
different=$($tool diff "$folder/writer.onnx" $written)
[ -n "$different" ] || fail "$written has the weights of 12 steps"
grep -v "initializer '[a-z0-9_]*_half'" <<< "$different" && fail "$written is not what train saves"
exit 0
