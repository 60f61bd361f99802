// MurmurHash3: hashes of 32 bits.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MurmurHash3
#pragma once

#include <bit>

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

namespace murmur_hash3_detail {

/// MurmurHash3_x86_32 of `count` bytes, which are read as little-endian words.
inline uint32_t hash(const unsigned char* bytes, std::size_t count, uint32_t seed) {
  const auto mixed = [](uint32_t word) { return std::rotl(word * 0xCC9E2D51u, 15) * 0x1B873593u; };
  const auto word = [&](std::size_t first, std::size_t past) {
    uint32_t w = 0;
    for (std::size_t k = past; k-- > first;) w = w << 8 | bytes[k];
    return w;
  };
  uint32_t h = seed;
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) h = std::rotl(h ^ mixed(word(k, k + 4)), 13) * 5 + 0xE6546B64u;
  h ^= mixed(word(k, count)) ^ static_cast<uint32_t>(count);
  h = (h ^ h >> 16) * 0x85EBCA6Bu;
  h = (h ^ h >> 13) * 0xC2B2AE35u;
  return h ^ h >> 16;
}

}  // namespace murmur_hash3_detail

/// Y is MurmurHash3_x86_32 of each element of X, of a string's or a number's bytes; as uint32, or if
/// `positive` is 0, as int32. op::com_microsoft::MurmurHash3{}(s) of ("ab") gives (2613040991).
struct MurmurHash3 {
  int64_t positive = 1;
  int64_t seed = 0;  ///< modulo 2^32

  static constexpr Spec spec{.name = "MurmurHash3",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T1"}},
                             .outputs = {{"Y", "T2"}},
                             .types = {{"T1", types::indices | types::uint32 | types::uint64 |
                                                  types::float32 | types::float64 | types::string},
                                       {"T2", types::int32 | types::uint32}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("positive", &MurmurHash3::positive),
                                         attr("seed", &MurmurHash3::seed)};

  constexpr void infer(Infer& i) const {
    i.out(0).type = Type(positive != 0 ? DType::uint32 : DType::int32);
    i.out(0, i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> x, AnyOut y) const {
    const auto each = [&]<class H>(H* to) {
      for (int64_t k = 0; k < x.size(); ++k) to[k] = std::bit_cast<H>(of(x[k]));
    };
    if (positive != 0) each(y.as<uint32_t>().data());
    else each(y.as<int32_t>().data());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class T>
  uint32_t of(const T& v) const {
    const auto key = static_cast<uint32_t>(seed);
    if constexpr (std::is_same_v<T, std::string>) {
      return murmur_hash3_detail::hash(reinterpret_cast<const unsigned char*>(v.data()), v.size(), key);
    } else {
      unsigned char bytes[sizeof v];
      std::memcpy(bytes, &v, sizeof v);
      if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
      return murmur_hash3_detail::hash(bytes, sizeof v, key);
    }
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MurmurHash3)
