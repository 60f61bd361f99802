#!/bin/bash
# The network of examples/digits finds as many of the scans that were held out as it did where it was trained;
# what is no model and no image is refused in words.
fail() {
  echo "$@"
  exit 1
}
digits=examples/digits
read_digits=$(examples/classify) || fail "classify ends with $?"
grep -q '^396 of 400 right: 99.00 %$' <<< "$read_digits" || fail "$read_digits"
[ "$(grep -c 'mistaken$' <<< "$read_digits")" -eq 4 ] || fail "$read_digits"

unlabelled=$(examples/classify $digits/digits.onnx $digits/images.npy) || fail "without labels: ends with $?"
[ "$(tail -n +2 <<< "$unlabelled" | grep -c '^image')" -eq 2 ] || fail "$unlabelled"

while read -r model images labels says; do
  said=$(examples/classify $digits/$model $digits/$images ${labels#-} 2>&1) && fail "$model $images $labels is not refused"
  [[ $said == classify:*$says* ]] || fail "$model $images $labels: $said"
done << 'END'
none.onnx images.npy - none.onnx
images.npy images.npy - images.npy
digits.onnx labels.npy - do not fit
digits.onnx images.npy examples/digits/images.npy do not fit
digits.onnx digits.onnx - digits.onnx
END
