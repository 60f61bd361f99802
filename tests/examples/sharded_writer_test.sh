#!/bin/bash
# The writer on ranks that keep parts of the keys and values writes the text of one rank.
fail() {
  echo "$@"
  exit 1
}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
# written DEVICES OPTIONS…: the text, and in $kept the bytes that the ranks keep, one a line.
written() {
  local said
  loader/tenon shard examples/writer/writer.onnx --devices "$@" -o "$folder/model.onnx" > "$folder/shard" ||
    fail "tenon shard $* ends with $?"
  said=$(examples/sharded/writer "$folder/model.onnx" "$1") || fail "$* ends with $?: $said"
  kept=$(sed -n 's/^rank .* keeps \([0-9]*\) bytes .*/\1/p' <<< "$said")
  text=$(tail -1 <<< "$said")
}
written 1
whole=$text all=$kept
[[ $whole == "At dawn "* && ${#whole} -ge 60 ]] || fail "one rank writes '$whole'"
for ranks in 2 4; do
  written $ranks --tensor
  [ "$text" = "$whole" ] || fail "$ranks ranks write '$text', and one '$whole'"
  [ "$(sort -u <<< "$kept")" = $((all / ranks)) ] || fail "$ranks ranks keep $kept bytes, and one $all"
done
written 3 --pipeline 3
[ "$text" = "$whole" ] || fail "three stages write '$text', and one '$whole'"
[ $(($(paste -sd+ <<< "$kept"))) = "$all" ] || fail "three stages keep $kept bytes, and one $all"
said=$(timeout 10 examples/sharded/writer "$folder/none.onnx" 2 2>&1) && fail "there is no model: $said"
[[ $said == "writer: "*none.onnx* ]] || fail "without a model it says: $said"
