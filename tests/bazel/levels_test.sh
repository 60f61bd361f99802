#!/bin/bash
# levels_test.sh LEVELS KERNELS ROW...: the program LEVELS lists these levels (see levels.cc), and KERNELS, a
# test of kernels, takes another level where TENON_ARCH names one that does not exist.
diff <(printf '%s\n' "${@:3}") <("$1") && TENON_ARCH=none "$2"
