#!/bin/bash
# levels_test.sh LEVELS ROW...: the program LEVELS lists these levels; see levels.cc.
diff <(printf '%s\n' "${@:2}") <("$1")
