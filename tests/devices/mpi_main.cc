// The main() of tests whose ranks are processes. The first one says what was tested, the others what failed.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tenon/devices/mpi_transport.hpp"

int main(int argc, char** argv) {
  int given = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  doctest::Context context(argc, argv);
  if (rank != 0) context.setOption("minimal", true);
  const int status = context.run();
  MPI_Finalize();
  return status;
}
