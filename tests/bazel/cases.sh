# Read by tests/conformance and tests/compiled. cases: folders of cases in the layout of ONNX's backend tests:
# Debian's, and the ones that TENON_CONFORMANCE names or that lie next to the checkout.
cases=(/usr/share/libonnx-testdata/data/{node,simple,pytorch-converted,pytorch-operator,real})
for more in ${TENON_CONFORMANCE:-../shared/conformance ../shared/conformance-other}; do
  [ -d "$more" ] && cases+=("$more")
done
