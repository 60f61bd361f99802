#include "tenon/op/math/mel_weight_matrix.hpp"

#include "tests/op/movement.hpp"

namespace tenon {
using namespace test;
using Mel = op::MelWeightMatrix;

TEST_CASE("MelWeightMatrix: triangles and types") {
  const auto f = [](float v) { return t<float>({}, {v}); };
  const auto n = [](int64_t v) { return t<int64_t>({}, {v}); };
  // Edges at bins 0, 1, 2, 3, 5; and 0, 0, 2, 4.
  const std::initializer_list<double> narrow = {0,   0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
                                                0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::initializer_list<double> wide = {1, 0, 0.5, 0.5, 0, 1, 0, 0.5, 0, 0, 0,
                                              0, 0, 0,   0,   0, 0, 0, 0,   0, 0, 0};
  for_types(Mel::spec.types[2], [&](DType d) {
    const Mel op{.output_datatype = static_cast<int64_t>(d)};
    const auto expected = [&](const Extents& e, std::initializer_list<double> list) {
      return cast(d, e, list);
    };
    check(op, {n(3), n(16), n(8000), f(200), f(4000)}, {expected({9, 3}, narrow)}, 1e-6);
    check(op, {n(2), n(20), n(8000), f(0), f(3000)}, {expected({11, 2}, wide)}, 1e-6);
  });
  for (DType d : {DType::float16, DType::float64, DType::bfloat16})
    check(Mel{},
          {t<int32_t>({1}, {3}), t<int32_t>({}, {16}), t<int32_t>({}, {8000}), cast(d, {}, {200}),
           cast(d, {1}, {4000})},
          {cast<float>({9, 3}, narrow)});
}

TEST_CASE("MelWeightMatrix: edges outside of the spectrum, refused") {
  const auto f = [](float v) { return t<float>({}, {v}); };
  const auto n = [](int64_t v) { return t<int64_t>({}, {v}); };
  const auto whole = [](const Value& v) {
    double least = 0, greatest = 0;
    for (int64_t k = 0; k < v.tensor().size(); ++k) {
      least = std::min(least, as_double(v.tensor().view(), k));
      greatest = std::max(greatest, as_double(v.tensor().view(), k));
    }
    return least >= 0 && greatest <= 1;
  };
  for (const auto& [low, high] :
       {std::pair{0.0f, 1e30f}, {-600.0f, 20000.0f}, {3000.0f, 100.0f}, {1e30f, 3e38f}})
    CHECK(whole(run(Mel{}, {n(7), n(16), n(8000), f(low), f(high)})[0]));
  CHECK(whole(run(Mel{}, {n(1), n(1), n(1), f(0), f(1)})[0]));
  check_fails(Mel{}, {n(3), n(16), n(8000), f(-700), f(4000)}, "are no frequencies");
  check_fails(Mel{}, {n(3), n(16), n(8000), f(-701), f(4000)}, "are no frequencies");
  check_fails(Mel{}, {n(3), n(16), n(8000), f(0), f(INFINITY)}, "are no frequencies");
  check_fails(Mel{}, {n(3), n(16), n(8000), f(NAN), f(1)}, "are no frequencies");
  check_fails(Mel{}, {n(3), n(16), n(INT64_MIN), f(0), f(1)}, "are no frequencies");
  check_fails(Mel{}, {n(0), n(16), n(8000), f(0), f(1)}, "num_mel_bins: 0, expected at least 1");
  check_fails(Mel{}, {n(3), n(-1), n(8000), f(0), f(1)}, "dft_length: -1, expected at least 1");
  check_fails(Mel{}, {n(3), n(16), n(0), f(0), f(1)}, "sample_rate: 0, expected at least 1");
  check_fails(Mel{}, {n(3), n(INT64_MAX), n(1), f(0), f(1)}, "");
  check_fails(Mel{}, {n(3), n(16), n(1), t<float>({2}, {0, 1}), f(1)},
              "lower_edge_hertz: (2), expected one element");
  check_fails(Mel{.output_datatype = 9}, {n(3), n(16), n(1), f(0), f(1)}, "output cannot be tensor(bool)");
}

TEST_CASE("MelWeightMatrix: symbols, typed") {
  const auto n = [](int64_t v) { return info(DType::int64, {}, {v}); };
  const auto unknown = info(DType::int64, {}), f = info(DType::float32, {});
  CHECK(infer(Mel{.output_datatype = 11}, {n(10), n(128), unknown, f, f})[0].dims == Dims{65, 10});
  CHECK(infer(Mel{.output_datatype = 11}, {n(10), n(128), unknown, f, f})[0].type == Type(DType::float64));
  CHECK(infer(Mel{}, {unknown, n(128), unknown, f, f})[0].dims == Dims{65, Dim()});
  const auto y =
      apply<Mel{}>(constant<int64_t, 8>, constant<int64_t, 16>, constant<int64_t, 8192>, 0.0f, 4096.0f);
  CHECK((y.extents()[0] == 9 && y.extents()[1] == 8));
}
}  // namespace tenon
