#!/bin/bash
# What the tool says of itself, and of a level that is not present.
fail() {
  echo "$@"
  exit 1
}
tool=loader/tenon
said=$(env -u TENON_ARCH $tool --version) || fail "--version ends with $?"
present=$(sed -nE 's/^levels: (.*) \((.*) in force\)$/\1/p' <<< "$said")
[[ $said =~ ^tenon\ [0-9]+\.[0-9]+\.[0-9]+$'\n'compiler:\ (g|clang)\+\+\ [0-9]+\..*$'\n'levels:\ baseline ]] || fail "$said"
[ "$(sed -n 's/.*(\(.*\) in force)$/\1/p' <<< "$said")" = "${present##*, }" ] || fail "not the greatest level: $said"

for level in ${present//,/}; do
  said=$(TENON_ARCH=$level $tool --version) || fail "TENON_ARCH=$level ends with $?"
  [[ $said == *"levels: $present ($level in force)" ]] || fail "$said"
done

for arguments in "--version" "ops" "run none.onnx" ""; do
  said=$(TENON_ARCH=sse9 $tool $arguments 2>&1)
  status=$?
  [ $status -eq 2 ] || fail "'$arguments' ends with $status"
  [ "$said" = "tenon: TENON_ARCH: 'sse9' is not an available level; available: $present" ] || fail "$said"
done

# A model's text and file are each other's; files in other formats are refused by name.
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
text='<
   ir_version: 10,
   opset_import: ["" : 21]
>
g (float[N] x) => (float[N] y) {
   y = Neg (x)
}'
echo "$text" > "$folder/model.txt"
$tool parse "$folder/model.txt" -o "$folder/model.onnx" || fail "parse ends with $?"
[ "$($tool print "$folder/model.onnx")" = "$text" ] || fail "print says: $($tool print "$folder/model.onnx")"
echo "$text +" > "$folder/model.txt"
said=$($tool parse "$folder/model.txt" 2>&1) && fail "text that goes on is a model"
[ "$said" = "tenon: $folder/model.txt: line 7, column 3: expected a name instead of '+'" ] || fail "$said"
for name in a.textproto a.json; do
  said=$($tool print "$folder/model.onnx" -o "$folder/$name" 2>&1) && fail "$name is written"
  said=$($tool parse "$folder/$name" 2>&1) && fail "$name is read"
  [[ $said == *"not read or written here"* ]] || fail "$said"
done

# A command line that is wrong gets the usage of its command, and no other.
said=$($tool infer 2>&1)
[ $? -eq 2 ] || fail "infer without a model does not end with 2"
[[ $said == "tenon: infer needs a model"*"  infer MODEL"*"  infer --check DIR"* && $said != *"check MODEL"* ]] || fail "$said"
[[ $($tool infer --help) == "  infer MODEL"* ]] || fail "$($tool infer --help)"
said=$($tool none 2>&1) && fail "there is a command 'none'"
[ "$said" = "tenon: there is no command 'none'
tenon --help lists the commands" ] || fail "$said"

# The operators as a page, in a file or on stdout.
$tool ops --html -o "$folder/ops.html" || fail "ops --html ends with $?"
cmp "$folder/ops.html" <($tool ops --html) || fail "ops --html writes another page to stdout"
grep -q '<details id="Conv">' "$folder/ops.html" || fail "no Conv on the page"
grep -q '(16,3,3,3) gives (1,16,8,8)' "$folder/ops.html" || fail "no comment of Conv's header on the page"
for arguments in "--html --matrix" "-o $folder/ops.txt" "--matrix -o $folder/ops.txt" "--html -o" "Conv"; do
  $tool ops $arguments > /dev/null 2>&1
  [ $? -eq 2 ] || fail "ops $arguments is accepted"
done

# Bounds of a run: the error names the node, and options that are no numbers are refused.
cat > "$folder/loop.txt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[4] x) => (float[4] y) {
   [loop] y = Loop (n, , x) <body = b (int64 i, bool go, float[4] v) => (bool again, float[4] w) {
      again = Identity (go)
      w = Neg (v)
   }>
}
END
$tool parse "$folder/loop.txt" -o "$folder/loop.onnx" || fail "parse ends with $?"
for bound in "--time-limit 0:passed its time of 0 ms" "--max-iterations 0:more than 0 iterations" "--max-bytes 3:bound of 3"; do
  said=$($tool run "$folder/loop.onnx" ${bound%%:*} 2>&1) && fail "$bound is passed"
  [[ $said == "tenon: node 'loop' (Loop-"*"${bound#*:}"* ]] || fail "$said"
  $tool run "$folder/loop.onnx" ${bound%% *} 100000 > /dev/null || fail "$bound ends with $?"
  $tool run "$folder/loop.onnx" ${bound%% *} 1x 2> /dev/null && fail "1x is a number"
done

# Every error of a file that is no model names the file.
bad=$folder/bad
mkdir "$bad" "$bad/folder.onnx"
: > "$bad/empty.onnx"
echo "no model" > "$bad/text.onnx"
echo "no model" > "$bad/text.onnxtxt"
head -c 60 "$folder/loop.onnx" > "$bad/cut.onnx"
for name in none.onnx none.onnxtxt folder.onnx empty.onnx text.onnx text.onnxtxt cut.onnx; do
  for command in "run F" "info F" "dump F --dot" "infer F" "check F" "convert F --opset 20 -o O" "parse F" "print F" \
    "inline F -o O" "merge F M -o O" "merge M F -o O" "extract F --inputs a --outputs b -o O" "diff F M" "diff M F" \
    "simplify F -o O" "shard F --devices 1 -o O" "train F --steps 1" "bench F --iters 1" "compare F M" "compare M F"; do
    words=()
    for word in $command; do
      case $word in
        F) word=$bad/$name ;;
        M) word=$folder/loop.onnx ;;
        O) word=$folder/out.onnx ;;
      esac
      words+=("$word")
    done
    # A message without any field is a model, if an empty one.
    said=$($tool "${words[@]}" 2>&1) && { [ $name = empty.onnx ] && continue || fail "${words[*]} passes"; }
    case $name,$command in empty.onnx,diff*) continue ;; esac
    [[ $said == *"$bad/$name"* ]] || fail "${words[*]} does not name the file: $said"
  done
done

# Recorded calls: what agrees, what does not, and what cannot be read.
suite=$folder/suite
mkdir "$suite"
printf '\x0a\x01a\x18\x01\xa0\x01\x02' > "$suite/a.bin"  # an AttributeProto: a = 1
: > "$suite/é\"b.bin"                                     # one without a name
cat > "$suite/index.jsonl" <<'END'
{"api": "check_attribute", "args": {"ir_version": 14, "opset_imports": {"": 28}}, "in": "a.bin", "verdict": "ok"}
{"verdict":"error", "in":"\u00e9\"b.bin" , "api":"check_attribute","args":{}, "test": [null, true, -1.5e3, {"a": []}]}
{"api": "check_attribute", "args": {}, "in": "a.bin", "verdict": "error", "msg": "two\nlines"}
{"api": "check_attribute", "args": {}, "in": "none.bin", "verdict": "error"}
{"api": "check_attribute"
END
said=$($tool check --suite "$suite")
[ $? -eq 1 ] || fail "check --suite ends with $?"
expected="FAIL a.bin: accepted, recorded: two lines
FAIL none.bin: $suite/none.bin: cannot be read
FAIL : JSON: no value at ''
2 passed, 3 failed"
[ "$said" = "$expected" ] || fail "$said"
if said=$($tool check "$suite/a.bin" 2>&1); then fail "check takes an AttributeProto for a model: $said"; fi

# Recorded conversions. Results that each run draws anew are not compared, whatever the operator's name and
# wherever it stands; all others are.
mkdir "$folder/converted"
# recorded NAME OPSET GRAPH [FUNCTION]: a model of x that gives $result.
result='float[4] y'
recorded() {
  echo "<ir_version: 10, opset_import: [\"\" : $2, \"own\" : 1]> g (float[4] x) => ($result) { $3 }
    ${4:+<domain: \"own\", opset_import: [\"\" : $2]> $4}" > "$folder/recorded.txt"
  $tool parse "$folder/recorded.txt" -o "$folder/converted/$1.onnx" || fail "parse ends with $?: $1"
}
# conversion NAME FROM-GRAPH [TO-GRAPH [FROM-FUNCTION [TO-FUNCTION]]]
conversion() {
  recorded "$1" 20 "$2" "${4-}"
  recorded "$1-21" 21 "${3:-$2}" "${5-${4-}}"
  echo "{\"in\": \"$1.onnx\", \"target\": 21, \"out\": \"$1-21.onnx\", \"verdict\": \"ok\"}" >> "$folder/converted/index.jsonl"
}
draw='y = RandomNormalLike (x)'
conversion same 'y = Neg (x)'
conversion other 'y = Neg (x)' 'y = Abs (x)'
conversion draws "$draw"
conversion draws-in-function 'y = own.Noise (x)' '' "Noise (x) => (y) { $draw }"
branch="g1 () => (float[4] p) { p = RandomNormalLike (x) }"
conversion draws-in-body "c = Constant <value = bool {1}> () y = If (c) <then_branch = $branch, else_branch = $branch>"
conversion seeds 'y = RandomNormalLike <seed = 1.0> (x)' 'y = RandomNormalLike <seed = 2.0> (x)'
conversion dropout 'y = Dropout (x)' 'z = Dropout (x) y = Neg (z)'
conversion named-so 'y = own.RandomSign (x)' '' 'RandomSign (x) => (y) { y = Neg (x) }' 'RandomSign (x) => (y) { y = Abs (x) }'
# Results that are sequences agree as far as their types are known.
result='seq(float[]) y' recorded sequence 20 'y = SequenceConstruct (x)'
result='seq(float[4]) y' recorded sequence-21 21 'y = SequenceConstruct (x)'
echo '{"in": "sequence.onnx", "target": 21, "out": "sequence-21.onnx", "verdict": "ok"}' >> "$folder/converted/index.jsonl"
said=$($tool convert --suite "$folder/converted" 2> "$folder/uncompared")
[ $? -eq 1 ] || fail "convert --suite ends with $?"
for name in other seeds dropout named-so; do
  [[ $said == *"FAIL $name.onnx: output 0: "* ]] || fail "$name: $said"
done
[[ $said == *"5 passed, 4 failed" ]] || fail "$said"
[[ $(cat "$folder/uncompared") == "0 recorded models cannot run, and 3 give other results in each run"* ]] \
  || fail "$(cat "$folder/uncompared")"

# A recorded inlining, whose tensors may be stored otherwise.
mkdir "$folder/inlined"
header='<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[N,M] x) => (float[N,M] y)'
echo "$header { y = local.f (x) }
  <domain: \"local\", opset_import: [\"\" : 17]> f (x) => (y) { y = ReduceLogSum <axes = [0]> (x) }" > "$folder/recorded.txt"
$tool parse "$folder/recorded.txt" -o "$folder/inlined/call.onnx" || fail "parse ends with $?"
echo "$header { a = Constant <value = int64[1] {0}> () y = ReduceLogSum (x, a) }" > "$folder/recorded.txt"
$tool parse "$folder/recorded.txt" -o "$folder/inlined/nodes.onnx" || fail "parse ends with $?"
echo '{"api": "inline_local_functions", "args": "(True,)", "in": "call.onnx", "out": "nodes.onnx", "verdict": "ok"}' \
  > "$folder/inlined/index.jsonl"
$tool inline --suite "$folder/inlined" || fail "inline --suite ends with $?"
# Inlining copies constants without a look at them, malformed ones too: a tensor with a float too few, and
# Constants with no value and with two. The comparison sees what differs in them.
header='<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[2] x) => (float[2] y)'
body='c = Constant <value = float[2] {1, 2}> () d = Constant () e = Constant <value_int = 1, value_float = 1.0> ()'
echo "$header { y = local.f (x) }
  <domain: \"local\", opset_import: [\"\" : 18]> f (v) => (r) { $body r = Add (v, c) }" > "$folder/recorded.txt"
$tool parse "$folder/recorded.txt" -o "$folder/inlined/call.onnx" || fail "parse ends with $?"
for f in 2 3; do
  echo "$header { ${body/2\}/$f\}} y = Add (x, c) }" > "$folder/recorded.txt"
  $tool parse "$folder/recorded.txt" -o "$folder/inlined/nodes$f.onnx" || fail "parse ends with $?"
done
LC_ALL=C sed -i 's/\x08\x02\x10\x01\x22/\x08\x03\x10\x01\x22/' "$folder/inlined/"*.onnx  # the tensors' extent: 3
for f in 2 3; do
  echo '{"api": "inline_local_functions", "args": "(False,)", "in": "call.onnx", "out": "nodes'$f'.onnx", "verdict": "ok"}'
done > "$folder/inlined/index.jsonl"
said=$($tool inline --suite "$folder/inlined") && fail "inline --suite finds the same in tensors that differ"
[[ $said == *", attribute 'value': "*"1 passed, 1 failed" ]] || fail "inline --suite: $said"

# Models put together, cut out, inlined and compared.
$tool merge "$folder/model.onnx" "$folder/model.onnx" --connect y=x --prefix-a a. --prefix-b b. -o "$folder/two.onnx" \
  || fail "merge ends with $?"
$tool extract "$folder/two.onnx" --inputs a.y --outputs b.y -o "$folder/part.onnx" || fail "extract ends with $?"
said=$($tool diff "$folder/two.onnx" "$folder/part.onnx") && fail "diff finds nothing"
[[ $said == *"main, node of 'a.y': only in the first"* ]] || fail "$said"
$tool inline "$folder/two.onnx" -o "$folder/same.onnx" || fail "inline ends with $?"
$tool diff "$folder/two.onnx" "$folder/same.onnx" || fail "diff ends with $?"

# External data is written next to a model, taken along to another folder, and brought back.
mkdir "$folder/from" "$folder/to"
cat > "$folder/sum.txt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add (x, w) }
END
files() { find "$folder/$1" -type f | wc -l; }
$tool parse "$folder/sum.txt" -o "$folder/from/m.onnx" --external 16 || fail "parse --external ends with $?"
[ "$(files from)" -eq 2 ] || fail "no data next to the model: $(ls "$folder/from")"
$tool convert "$folder/from/m.onnx" --opset 22 -o "$folder/from/n.onnx" || fail "convert ends with $?"
[ "$(files from)" -eq 3 ] || fail "data is copied within a folder: $(ls "$folder/from")"
$tool extract "$folder/from/m.onnx" --inputs x --outputs y -o "$folder/to/part.onnx" || fail "extract ends with $?"
[ "$(files to)" -eq 2 ] || fail "data is left over: $(ls "$folder/to")"
$tool merge "$folder/from/m.onnx" "$folder/to/part.onnx" --connect y=x --prefix-a a. --prefix-b b. --external 1 \
  -o "$folder/to/both.onnx" || fail "merge of two folders ends with $?"
[ "$(files to)" -eq 4 ] || fail "data of two folders: $(ls "$folder/to")"
$tool inline "$folder/from/m.onnx" -o "$folder/to/whole.onnxtxt" --external 1000 || fail "inline ends with $?"
[ "$(files to)" -eq 5 ] || fail "small data is not brought in: $(ls "$folder/to")"
grep -q 'w = *{1,2,3,4}' "$folder/to/whole.onnxtxt" || fail "$(cat "$folder/to/whole.onnxtxt")"
rm -r "$folder/from"
for model in part both; do
  $tool check "$folder/to/$model.onnx" || fail "check of $model ends with $?"
done
ln -s both.onnx "$folder/to/link.onnx"
said=$($tool infer "$folder/to/part.onnx" -o "$folder/to/link.onnx" 2>&1) && fail "a link is followed"
[[ $said == *"a symbolic link"* ]] || fail "$said"
$tool parse "$folder/sum.txt" -o /dev/stdout | cmp - <($tool parse "$folder/sum.txt" -o /dev/fd/1 | cat) || fail "no pipe"
echo '<ir_version: 8, opset_import: ["" : 20]> g (float[N] x) => (float[N] y) { a = Softsign (x) y = Mish (a) }' \
  > "$folder/soft.txt"
$tool parse "$folder/soft.txt" -o "$folder/soft.onnx" || fail "parse ends with $?"
$tool inline "$folder/soft.onnx" --schema-functions --only :Softsign -o "$folder/plain.onnx" || fail "inline ends with $?"
said=$($tool print "$folder/plain.onnx")
[[ $said == *"Div (x, "*"Mish (a)"* ]] || fail "$said"
$tool inline "$folder/soft.onnx" --only :Softsign -o "$folder/plain.onnx" 2> /dev/null && fail "operators are no local functions"
said=$($tool inline "$folder/soft.onnx" --schema-functions --max-nodes 2 -o "$folder/plain.onnx" 2>&1) && fail "three nodes are two"
[ "$said" = "tenon: $folder/soft.onnx: inlining: calls multiply nodes beyond max_nodes" ] || fail "$said"
$tool inline "$folder/soft.onnx" --schema-functions --only :Abs -o "$folder/plain.onnx" 2> /dev/null && fail "Abs has no function"

# Models described and drawn, also those that cannot run here; values kept; runs compared.
cat > "$folder/strange.txt" <<'END'
<ir_version: 10, opset_import: ["" : 21, "local" : 1, "com.acme" : 3], producer_name: "hand", metadata_props: ["key": "value"]>
g (float[batch,4] x, seq(int64[N]) s) => (float[batch,4] y, s2) <float[4] w = {1, 2, 3, 4}> {
   a = Mul (x, w)
   b = local.twice (a)
   y = com.acme.Whirl (b)
   s2 = Identity (s)
}
<domain: "local", opset_import: ["" : 21]> twice (v) => (r) { r = Add (v, v) }
END
$tool parse "$folder/strange.txt" -o "$folder/strange.onnx" || fail "parse ends with $?"
said=$($tool info "$folder/strange.onnx") || fail "info ends with $?"
for part in "IR version 10, ai.onnx 21, local 1, com.acme 3" "producer hand" "metadata key = value" \
  "input  x: float[batch,4]" "input  s: seq(int64[N])" "output s2: ?" "function local.twice (v) => (r): 1 node, 1 call" \
  "float: 1 tensor of 4" "1 com.acme.Whirl, unknown here" "1 Identity-21" "no memory plan" "com.acme.Whirl at opset 3"; do
  [[ $said == *"$part"* ]] || fail "info lacks '$part': $said"
done
said=$($tool info --json "$folder/strange.onnx") || fail "info --json ends with $?"
for part in '"ir_version": 10' '{"domain": "com.acme", "version": 3}' '{"key": "key", "value": "value"}' \
  '{"name": "x", "type": "float[batch,4]", "element": "float", "extents": ["batch", 4], "optional": false}' \
  '{"name": "s2", "type": null, "optional": false}' \
  '{"domain": "local", "name": "twice", "overload": "", "inputs": ["v"], "outputs": ["r"], "attributes": [], "nodes": 1, "calls": 1}' \
  '"parameters": {"tensors": 1, "elements": 4, "bytes": 16, ' '{"domain": "com.acme", "name": "Whirl", "version": null, "count": 1}' \
  '{"domain": "ai.onnx", "name": "Identity", "version": 21, "count": 1}' '"memory_plan": null, "cannot_run": '; do
  [[ $said == *"$part"* ]] || fail "info --json lacks '$part': $said"
done
[[ $($tool info "$folder/model.onnx" --json) == '{"file": '*'"memory_plan": {"arena_bytes": '*'}}' ]] || fail "no plan as JSON"
[[ $($tool info "$folder/model.onnx") == *"memory plan"*"0 values decided in the run" ]] || fail "no memory plan"
$tool dump "$folder/strange.onnx" --dot -o "$folder/strange.dot" || fail "dump --dot ends with $?"
grep -q 'n1 -> n2 \[label="float\[batch,4\]"' "$folder/strange.dot" || fail "$(cat "$folder/strange.dot")"
[[ $($tool infer "$folder/strange.onnx") != *$'\e'* ]] || fail "infer prints control characters"
[[ $($tool dump "$folder/strange.onnx" --html) == "<!DOCTYPE html>"*"</html>" ]] || fail "dump --html is no page"
$tool dump "$folder/strange.onnx" 2> /dev/null && fail "dump needs no form"

cat > "$folder/chain.txt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N,4] x, float[4] bias) => (float[N,4] y) {
   ["../scale"] "a/b" = Mul (x, x)
   [shift] a_b = Add ("a/b", bias)
   ["root"] y = Sqrt (a_b)
}
END
sed 's/= Mul (x, x)/= Mul (x, bias)/' "$folder/chain.txt" > "$folder/other.txt"
for name in chain other; do
  $tool parse "$folder/$name.txt" -o "$folder/$name.onnx" || fail "parse ends with $?"
done
said=$($tool run "$folder/chain.onnx" --keep a/b --output "$folder/kept") || fail "run --keep ends with $?"
[[ $said == "y: tensor(float) (1,4)"*"a/b: tensor(float) (1,4)"* ]] || fail "$said"
[ "$(ls "$folder/kept")" = "a_b.npy
y.npy" ] || fail "$(ls "$folder/kept")"
said=$($tool run "$folder/chain.onnx" --keep-all "$folder/all") || fail "run --keep-all ends with $?"
[ "$(cat "$folder/all/values.tsv")" = "y.npy	y
x.npy	x
bias.npy	bias
a_b.npy	a/b
a_b-2.npy	a_b" ] || fail "$(cat "$folder/all/values.tsv")"
said=$($tool run "$folder/chain.onnx" --keep missing 2>&1) && fail "a missing value is kept"
[ "$said" = "tenon: --keep: the main graph has no value 'missing'; values of bodies cannot be kept" ] || fail "$said"

said=$($tool compare "$folder/chain.onnx" "$folder/other.onnx") && fail "compare finds nothing"
[[ $said == "first difference: 'a/b', tensor(float) (1,4)
  made by node '../scale' (Mul-14)"*"3 values compared, 3 differ" ]] || fail "$said"
$tool compare "$folder/chain.onnx" "$folder/other.onnx" --atol 10 > /dev/null || fail "compare --atol ends with $?"
said=$($tool compare "$folder/chain.onnx" --passes --inputs "$folder/all") || fail "compare --passes ends with $?: $said"
[[ $said == *" y"*" differ" ]] || fail "$said"
said=$($tool compare "$folder/chain.onnx" --levels baseline "${present##*, }") || fail "compare --levels ends with $?: $said"
[[ $said == *" y"*", 0 differ" ]] || fail "$said"
said=$($tool compare "$folder/chain.onnx" --levels baseline sse9 2>&1) && fail "sse9 is a level"
[[ $said == *"level sse9: the run failed" ]] || fail "$said"

# A model simplified for extents: the arithmetic on them is gone, and the outputs' extents are known.
cat > "$folder/model.txt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N, 2] x) => (float[M] y) {
   size = Size (x)
   one = Constant <value_ints = [1]> ()
   shape = Reshape (size, one)
   y = Reshape (x, shape)
}
END
$tool parse "$folder/model.txt" -o "$folder/model.onnx" || fail "parse ends with $?"
said=$($tool simplify "$folder/model.onnx" --shape x=3x2 -o "$folder/simple.onnx") || fail "simplify ends with $?"
[ "$said" = "1 nodes, before 4" ] || fail "$said"
said=$($tool print "$folder/simple.onnx")
[[ $said == *"(float[3,2] x) => (float[6] y)"* ]] || fail "$said"
if $tool simplify "$folder/model.onnx" --shape z=3 -o "$folder/simple.onnx" 2> /dev/null; then
  fail "there is no input z"
fi

# Extents are stated in one way, by an input's name or a symbol's.
$tool simplify "$folder/model.onnx" --shape N=3 -o "$folder/simple.onnx" > /dev/null || fail "simplify by a symbol ends with $?"
[[ $($tool print "$folder/simple.onnx") == *"(float[3,2] x) => (float[6] y)"* ]] || fail "$($tool print "$folder/simple.onnx")"
for shape in N=3 x=3x2; do
  [[ $($tool run "$folder/model.onnx" --shape $shape) == "y: "*"(6)"* ]] || fail "run: $($tool run "$folder/model.onnx" --shape $shape)"
  [[ $($tool infer "$folder/model.onnx" --shape $shape) == *"float[3,2]"*"float[6]"* ]] || fail "$($tool infer "$folder/model.onnx" --shape $shape)"
  [[ $($tool info "$folder/model.onnx" --shape $shape) == *"[3,2]"* ]] || fail "$($tool info "$folder/model.onnx" --shape $shape)"
  $tool compare "$folder/model.onnx" --passes --shape $shape > /dev/null || fail "compare ends with $?"
done
for command in run bench; do
  said=$($tool $command "$folder/model.onnx" --shape M=3 2>&1) && fail "$command knows an input or extent M"
  [[ $said == *"--shape names 'M'"* ]] || fail "$said"
done
said=$($tool infer "$folder/model.onnx" --shape x=3 2>&1)
[ $? -eq 2 ] || fail "x has two axes: $said"

# An operator that fails on extents that the tool chose: the error says how to state them.
cat > "$folder/open.txt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N] x, float[2] bias) => (float[2] y) {
   shape = Constant <value_ints = [2]> ()
   pair = Reshape (x, shape)
   y = Add (pair, bias)
}
END
$tool parse "$folder/open.txt" -o "$folder/open.onnx" || fail "parse ends with $?"
said=$($tool run "$folder/open.onnx" 2>&1) && fail "one element is reshaped to two"
[[ $said == *"set them with --shape: N" ]] || fail "$said"
$tool run "$folder/open.onnx" --shape N=2 > /dev/null || fail "run with an extent ends with $?"
[[ $($tool info "$folder/open.onnx" --shape N=2) == *"memory plan (unknown extents as 1): "* ]] || fail "info plans other extents"

# A symbol is one extent in all inputs, those that the tool makes up included; elements have the declared extents.
cat > "$folder/same.onnxtxt" <<'END'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N] x, float[N] y, seq(float[2, 3]) s) => (float[N] z, float[M, 3] t) {
   z = Add (x, y)
   t = ConcatFromSequence <axis = 0> (s)
}
END
for option in "--shape N=4" "--shape y=4" "--input x=random:4"; do
  said=$($tool run "$folder/same.onnxtxt" $option) || fail "run $option ends with $?"
  [[ $said == "z: tensor(float) (4) "*"t: tensor(float) (6,3)"* ]] || fail "$option: $said"
done
said=$($tool run "$folder/same.onnxtxt" --input x=random:2 --input y=random:3 2>&1) && fail "N is 2 and 3"
[[ $said == *"input 'y': the extent 'N' is 3 here, and 2 in input 'x'"* ]] || fail "$said"

# Profiles are medians of runs after the first one, with and without passes.
[[ $($tool bench "$folder/open.onnx" --shape N=2 --iters 1 --no-passes --profile) == *"medians of "*" runs)"*Reshape*'{"median_ms"'* ]] ||
  fail "bench --profile"
said=$($tool run "$folder/open.onnx" --shape N=2 --no-passes --profile "$folder/trace.json") || fail "run --profile ends with $?"
[[ $said == "y: "*"medians of "*Add* ]] || fail "$said"
[[ $(cat "$folder/trace.json") == "["*'"cat":"Add"'*"]" ]] || fail "$(cat "$folder/trace.json")"

# Annotations for devices: written, checked, and shown for each device.
cat > "$folder/mlp.onnxtxt" <<'END'
<ir_version: 8, opset_import: ["" : 20]>
g (float[N, 2] x) => (float[N, 2] y)
  <float[2, 4] w1 = {1, 2, 3, 4, 5, 6, 7, 8}, float[4, 2] w2 = {1, 2, 3, 4, 5, 6, 7, 8}> {
   h = MatMul (x, w1)
   r = Relu (h)
   y = MatMul (r, w2)
}
END
said=$($tool shard "$folder/mlp.onnxtxt" --devices 2 --tensor -o "$folder/two.onnx") || fail "shard ends with $?"
[[ $said == "rank 0: holds 32 bytes of weights, sends "*" bytes in a run
rank 1: holds 32 bytes of weights, sends 8 bytes in a run
extents of inputs that the model leaves open count as 1; --shape sets them" ]] || fail "$said"
$tool check --full "$folder/two.onnx" || fail "check of annotations ends with $?"
said=$($tool infer "$folder/two.onnx" --devices) || fail "infer --devices ends with $?"
[ "$said" = "configuration 'devices': 2 devices
node 'h' (MatMul)
  w1 float[2,4], axis 1 in 2 pieces
    device 0: [2,2], axis 1 from 0
    device 1: [2,2], axis 1 from 2
node 'r' (Relu)
  h float[N,4], axis 1 in 2 pieces
    device 0: [N,2], axis 1 from 0
    device 1: [N,2], axis 1 from 2
node 'y' (MatMul)
  r float[N,4], axis 1 in 2 pieces
    device 0: [N,2], axis 1 from 0
    device 1: [N,2], axis 1 from 2
  w2 float[4,2], axis 0 in 2 pieces
    device 0: [2,2], axis 0 from 0
    device 1: [2,2], axis 0 from 2" ] || fail "$said"
$tool shard "$folder/two.onnx" --devices 2 --pipeline 2 -o "$folder/stages.onnx" > /dev/null || fail "shard ends with $?"
said=$($tool infer "$folder/stages.onnx" --devices)
[[ $said == *"(MatMul), stage 0"*"(MatMul), stage 1" ]] || fail "$said"
for options in "--devices 0" "--devices 2 --tensor --pipeline 2" "--tensor" "--devices 2 --pipeline 0"; do
  $tool shard "$folder/mlp.onnxtxt" $options -o "$folder/two.onnx" 2> /dev/null
  [ $? -eq 2 ] || fail "shard $options is accepted"
done
said=$($tool shard "$folder/mlp.onnxtxt" --devices 5 --tensor -o "$folder/two.onnx" 2>&1) && fail "4 columns make 5 pieces"
[[ $said == *"mlp.onnxtxt: devices: the graph has no weights that can be cut into 5 pieces" ]] || fail "$said"

# Operators of com.microsoft are the tool's like ONNX's, and those that it does not have are refused with advice.
cat > "$folder/microsoft.txt" <<'END'
<ir_version: 8, opset_import: ["" : 14, "com.microsoft" : 1]>
g (float[N,4] x, float[4] scale) => (float[N,4] y) {
   a = SimplifiedLayerNormalization <epsilon = 1.0e-5> (x, scale)
   b = com.microsoft.SkipLayerNormalization (a, x, scale)
   c = LayerNormalization (b, scale)
   y = com.microsoft.FastGelu (c, scale)
}
END
$tool parse "$folder/microsoft.txt" -o "$folder/microsoft.onnx" || fail "parse ends with $?"
said=$($tool check --full "$folder/microsoft.onnx") || fail "check: $said"
[[ $($tool infer "$folder/microsoft.onnx") == *"b: float[N,4]"* ]] || fail "infer: $($tool infer "$folder/microsoft.onnx")"
said=$($tool compare "$folder/microsoft.onnx" --passes --shape N=3) || fail "compare: $said"
$tool inline "$folder/microsoft.onnx" --schema-functions -o "$folder/inlined.onnx" || fail "inline ends with $?"
said=$($tool compare "$folder/microsoft.onnx" "$folder/inlined.onnx" --shape N=3) || fail "compare: $said"
$tool convert "$folder/microsoft.onnx" --opset 17 -o "$folder/newer.onnx" || fail "convert ends with $?"
said=$($tool compare "$folder/microsoft.onnx" "$folder/newer.onnx" --shape N=3) || fail "compare: $said"
[[ $($tool ops) == *"com.microsoft.FusedConv since 1"* ]] || fail "ops has no com.microsoft.FusedConv"
[[ $($tool ops --matrix) == *com.microsoft.Gelu* ]] || fail "ops --matrix has no com.microsoft.Gelu"
# missing OPERATOR ADVICE: what is said of an operator of com.microsoft that there is not.
missing() {
  sed "s/com.microsoft.FastGelu/com.microsoft.$1/" "$folder/microsoft.txt" > "$folder/missing.txt"
  $tool parse "$folder/missing.txt" -o "$folder/missing.onnx" || fail "parse ends with $?"
  said=$($tool run "$folder/missing.onnx" --shape N=3 2>&1) && fail "$1 runs"
  [[ $said == *"operator com.microsoft.$1 at opset 1. "*"$2"* ]] || fail "$said"
}
missing Unknown "export with ONNX's own operators, or save the model before the optimiser, or with fewer optimisations"
missing BeamSearch 'generate with tenon/generate.hpp'
missing DecoderMaskedSelfAttention 'export the decoder with MultiHeadAttention'
echo '<ir_version: 8, opset_import: ["" : 16]> g (float[2] x) => (float[2] y) { y = Gelu (x) }' > "$folder/early.onnxtxt"
said=$($tool run "$folder/early.onnxtxt" 2>&1) && fail "Gelu runs at opset 16"
[[ $said == *"not supported: operator ai.onnx.Gelu at opset 16, which has it since opset 20" ]] || fail "$said"

[ "$($tool help)" = "$($tool --help)" ] || fail "help is not --help"
[ "$($tool help bench)" = "$($tool bench --help)" ] || fail "help bench is not bench --help"
if $tool help none 2> /dev/null; then fail "help knows a command 'none'"; fi
