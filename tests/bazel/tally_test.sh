#!/bin/bash
# Test cases, programs, and what this machine cannot run are counted apart, from logs such as bazel writes.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
log_of() {
  mkdir -p "$logs/$1"
  cat > "$logs/$1/test.log"
}
log_of tests/base/types_test <<< '[doctest] test cases:  7 |  7 passed | 0 failed | 0 skipped'
log_of tests/kernels/gemm_test_baseline << 'END'
level: baseline
[doctest] test cases: 10 |  8 passed | 2 failed | 0 skipped
END
log_of tests/kernels/gemm_test_avx2 << 'END'
level: avx2
[doctest] test cases: 10 | 10 passed | 0 failed | 0 skipped
END
for test in gemm conv; do
  log_of tests/kernels/${test}_test_avx512 <<< 'skipped: level avx512: avx512f wanted, the processor has baseline, avx2'
done
log_of tests/readme_test <<< ''
log_of tests/crashed_test <<< 'skipped: and then a crash'
log_of top_test <<< ''
cat > "$logs/bazel" << 'END'
Loading: 0 packages loaded
//tests:base/types_test                                                  PASSED in 0.1s
//tests:kernels/gemm_test_baseline                                       FAILED in 1.5s
  /out/testlogs/tests/kernels/gemm_test_baseline/test.log
//tests:kernels/gemm_test_avx2                                  (cached) PASSED in 1.2s
//tests:kernels/gemm_test_avx512                                         PASSED in 0.0s
//tests:kernels/conv_test_avx512                                (cached) PASSED in 0.0s
//tests:kernels/gemm_test_dotprod                                        SKIPPED
//tests:readme_test                                                      PASSED in 0.0s
//tests:crashed_test                                                     FAILED in 0.0s
//tests:unbuilt_test                                                  NO STATUS
//:top_test                                                              PASSED in 0.0s

Executed 9 out of 9 tests: 6 tests pass, 1 was skipped and 2 fail locally.
END
diff - <(tests/bazel/tally.sh "$logs/bazel" "$logs") << 'END'
levels that ran: avx2, baseline
skipped 2: level avx512: avx512f wanted, the processor has baseline, avx2
skipped 1: not for this processor family
27 passed, 4 failed, 3 skipped
END
