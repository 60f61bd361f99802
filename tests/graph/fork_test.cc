// Sessions in processes that fork.
#include <doctest/doctest.h>

#ifdef __linux__
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "tenon/graph/session.hpp"
#include "tenon/op/math/mul.hpp"

namespace tenon {
namespace {

// Of more elements than one thread takes.
constexpr int64_t many = int64_t{1} << 20;

Graph square() {
  Graph g;
  const auto x = g.input<float, Shape<dyn>>("x");
  g.output("y", g.add(op::Mul{}, x, x));
  return g;
}

bool runs(const Session& s, float x) {
  const Tensor<float, Shape<dyn>> in({many}, std::vector<float>(many, x));
  Outputs out = s.run({{"x", in}});
  const auto y = out["y"].view<float, Shape<dyn>>();
  return std::all_of(y.data(), y.data() + many, [&](float v) { return v == x * x; });
}

}  // namespace

TEST_CASE("a session runs in the child of a fork, and goes on in the parent") {
  std::optional<Session> session(std::in_place, square(), SessionOptions{.threads = 4});
  CHECK(runs(*session, 2));
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    bool good = runs(*session, 3);
    session.reset();
    _exit(good && runs(Session(square()), 4) ? 0 : 1);
  }
  CHECK(runs(*session, 5));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_MESSAGE(WIFEXITED(status), "ended by signal ", WTERMSIG(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace tenon
#endif
