#!/bin/bash
# tenon-mpi on two ranks and more: the outputs of `tenon run`, and errors that end all ranks.
tool=loader/tenon
mpi=loader/tenon-mpi
. tests/devices/mpirun.sh $mpi
fail() {
  echo "$@"
  exit 1
}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
tests/loader/write_sharded "$folder" || fail "no models"

# same MODEL OPTIONS…: on 2 and on 4 ranks, the outputs of one.
same() {
  local model="$folder/$1.onnx" n said
  $tool run "$model" "${@:2}" --output "$folder/whole" > "$folder/said" || fail "$1: tenon ends with $?"
  for n in 2 4; do
    said=$(ranks $n $mpi run "$model" "${@:2}" --output "$folder/parts") || fail "$1: $n ranks end with $?: $said"
    [ "${said//$'\r'/}" = "$(cat "$folder/said")" ] || fail "$1: $n ranks say: $said"
    diff -r "$folder/whole" "$folder/parts" || fail "$1: $n ranks give other outputs"
    rm -r "$folder/parts"
  done
  rm -r "$folder/whole"
}
same perceptron --input x="$folder/x.npy" --threads 1
same perceptron --input x="$folder/x.npy" --no-passes
for option in "--input rows=$folder/row3.npy" "--threads 2"; do
  $tool run "$folder/pipeline.onnx" $option > "$folder/said" || fail "pipeline: tenon ends with $?"
  said=$(ranks 2 $mpi run "$folder/pipeline.onnx" --configuration two $option) || fail "pipeline ends with $?: $said"
  [ "${said//$'\r'/}" = "$(cat "$folder/said")" ] || fail "pipeline, $option: $said"
done

# wrong STATUS MESSAGE N ARGUMENTS…: all ranks end, and the message is said once.
wrong() {
  local said status
  said=$(ranks "$3" $mpi "${@:4}" 2>&1)
  status=$?
  [ $status -eq "$1" ] || fail "'${*:4}' ends with $status: $said"
  [[ $said == *"tenon-mpi: "*"$2"* ]] || fail "'${*:4}' says: $said"
  [ "$(grep -c "tenon-mpi: " <<< "$said")" -eq 1 ] || fail "'${*:4}' is said several times: $said"
}
wrong 1 "devices: rank 1: " 2 run "$folder/pipeline.onnx" --configuration two --input rows="$folder/row4.npy"
wrong 1 "devices: the model has 2 device configurations" 2 run "$folder/pipeline.onnx"
wrong 1 "devices: a placement on 2 devices for 1 ranks" 1 run "$folder/perceptron.onnx"
wrong 1 "$folder/none.onnx" 3 run "$folder/none.onnx"
wrong 1 "$folder/perceptron.onnx: the model has no input 'z'" 2 run "$folder/perceptron.onnx" --input z="$folder/x.npy"
wrong 2 "run has no option --keep" 2 run "$folder/perceptron.onnx" --keep r
wrong 2 "there is no command 'check'" 2 check
[[ $(ranks 3 $mpi --help) == "usage: mpirun"* ]] || fail "--help says: $(ranks 3 $mpi --help)"
[ "$(ranks 3 $mpi --version | tr -d '\r')" = "$($tool --version)" ] || fail "--version differs"
