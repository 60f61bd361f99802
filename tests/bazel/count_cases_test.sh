#!/bin/bash
# A disputed case has to fail as it is written, a case that is not there does neither, and nothing is lost.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
cat > "$scratch/disputed" << 'END'
# A comment.

node/test_text: output 'y': 3 of 6 elements differ
node/test_number: output 'y': 1 of {1 to 6} elements differ, first at (0): ~3.1428 instead of -2.5e-07
node/test_twice: one way
node/test_twice: another way
node/test_random: by chance {1 to 3} of 3 elements differ
node/test_refused: model.onnx: node 'z' (Mod-10)
aa.onnx: the model is refused [~ and {these} are no numbers]
END
# expect WHAT, with the tool's output on stdin and the present cases as further arguments; the counts' own
# output is compared with the file $scratch/expected.
expect() {
  local what=$1 said
  shift
  printf '%s\n' "$@" > "$scratch/present"
  said=$(tests/bazel/count_cases.sh title "$scratch/disputed" "$scratch/present" "Add Mul")
  diff - "$scratch/expected" <<< "$said" && return
  echo "in: $what"
  status=1
}
expected() { cat > "$scratch/expected"; }

expected <<< 'title: 7 passed, 0 failed; 0 want operators without a header, 4 are disputed'
expect "cases that fail as it is written" v1/node/test_text v1/node/test_number v1/node/test_refused cases/aa.onnx v1/node/test_other << 'END'
FAIL v1/node/test_text: output 'y': 3 of 6 elements differ
FAIL v1/node/test_number: output 'y': 1 of 5 elements differ, first at (0): 3.143 instead of -2.5e-07
FAIL v1/node/test_refused: v1/node/test_refused/model.onnx: node 'z' (Mod-10)
FAIL cases/aa.onnx: the model is refused [~ and {these} are no numbers]
7 passed, 4 failed
END

expected << 'END'
FAIL v1/node/test_text: output 'y': 3 of 6 elements differ, first at (0)
  disputed, and expected to say: output 'y': 3 of 6 elements differ
FAIL v2/node/test_text: output 'y': 2 of 6 elements differ
  disputed, and expected to say: output 'y': 3 of 6 elements differ
FAIL v1/node/test_number: output 'y': 1 of 5 elements differ, first at (0): 3.15 instead of -2.5e-07
  disputed, and expected to say: output 'y': 1 of {1 to 6} elements differ, first at (0): ~3.1428 instead of -2.5e-07
FAIL v2/node/test_number: output 'y': 1 of 7 elements differ, first at (0): 3.1428 instead of -2.5e-07
  disputed, and expected to say: output 'y': 1 of {1 to 6} elements differ, first at (0): ~3.1428 instead of -2.5e-07
FAIL v3/node/test_number: output 'y': 1 of 5 elements differ, first at (0): 3.1428 instead of -2.6e-07
  disputed, and expected to say: output 'y': 1 of {1 to 6} elements differ, first at (0): ~3.1428 instead of -2.5e-07
FAIL v1/anode/test_text: output 'y': 3 of 6 elements differ
title: 1 passed, 6 failed; 0 want operators without a header, 0 are disputed
END
expect "other failures" {v1,v2}/node/test_text {v1,v2,v3}/node/test_number v1/anode/test_text v1/node/test_fine << 'END'
FAIL v1/node/test_text: output 'y': 3 of 6 elements differ, first at (0)
FAIL v2/node/test_text: output 'y': 2 of 6 elements differ
FAIL v1/node/test_number: output 'y': 1 of 5 elements differ, first at (0): 3.15 instead of -2.5e-07
FAIL v2/node/test_number: output 'y': 1 of 7 elements differ, first at (0): 3.1428 instead of -2.5e-07
FAIL v3/node/test_number: output 'y': 1 of 5 elements differ, first at (0): 3.1428 instead of -2.6e-07
FAIL v1/anode/test_text: output 'y': 3 of 6 elements differ
1 passed, 6 failed
END

expected << 'END'
FAIL v1/node/test_text: passes, and is disputed: output 'y': 3 of 6 elements differ
FAIL v1/node/test_twice: passes, and is disputed: another way
title: 3 passed, 2 failed; 0 want operators without a header, 1 are disputed
END
expect "cases that pass" v1/node/test_text v1/node/test_twice v1/node/test_random v1/node/a v1/node/b << 'END'
FAIL v1/node/test_twice: one way
5 passed, 1 failed
END

expected <<< 'title: 1 passed, 0 failed; 0 want operators without a header, 0 are disputed'
expect "cases that are not there" v1/node/test_fine v1/node/test_text_2 v1/node/test_tex <<< '1 passed, 0 failed'

expected << 'END'
FAIL v1/node/test_c: model: not supported: operator ai.onnx.Add at opset 99
title: 4 passed, 1 failed; 2 want operators without a header, 0 are disputed
END
expect "operators without a header" v1/node/test_{a,b,c} << 'END'
FAIL v1/node/test_a: model: not supported: operator ai.onnx.Sub at opset 7
FAIL v1/node/test_b: model: not supported: operator com.own.Add at opset 7; operator ai.onnx.ml.Sub at opset 1
FAIL v1/node/test_c: model: not supported: operator ai.onnx.Add at opset 99
4 passed, 3 failed
END

expected << 'END'
FAIL the tool did not come to an end: Segmentation fault
title: 0 passed, 1 failed; 0 want operators without a header, 0 are disputed
END
expect "a tool that crashes" v1/node/test_text <<< 'Segmentation fault'

expected << 'END'
FAIL the tool tells of 0 of its 2 failures
title: 5 passed, 1 failed; 0 want operators without a header, 0 are disputed
END
expect "failures that are not told of" v1/node/test_a <<< '5 passed, 2 failed'

echo 'node/test_silent' >> "$scratch/disputed"
expected << END
FAIL $scratch/disputed, line 10: no case, colon and message: node/test_silent
title: 5 passed, 1 failed; 0 want operators without a header, 0 are disputed
END
expect "a line without a message" v1/node/test_a <<< '5 passed, 0 failed'
exit $status
