# ranks N COMMAND…: runs it on N ranks, more than the machine has cores if need be. Sourced by tests over MPI, with
# the programs that they need as arguments: where one is missing, the test ends as skipped.
for program in mpirun "$@"; do
  if ! command -v "$program" > /dev/null; then
    echo "skipped: MPI is not installed"
    exit 0
  fi
done
export HOME="${HOME:-/tmp}"
# Open MPI keeps memory until a process ends, and its threads are not instrumented.
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" TSAN_OPTIONS="$TSAN_OPTIONS:ignore_noninstrumented_modules=1"
ranks() {
  timeout -k 5 120 mpirun --allow-run-as-root --oversubscribe -n "$@"
}
