// Operators that map each element to the value of an equal key.
#pragma once

#include "tenon/base/parallel.hpp"
#include "tenon/kernels/lookup.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::op {

/// The types of keys and values.
using label_types = TypeList<int64_t, float, std::string, int32_t, int16_t, double>;

/// A list as a view.
template <class T>
AnyView list_view(const std::vector<T>& list) {
  return TensorView<const T>(list.data(), {static_cast<int64_t>(list.size())});
}

/// y = the values at the keys that equal the elements of x, of equal keys the last one's, else `otherwise`, a
/// value of their type.
template <class K>
void map_labels(TensorView<const K> x, std::span<const K> keys, AnyView values, const void* otherwise,
                AnyOut y) {
  const kernels::Lookup<K> place{keys};
  dispatch(label_types{}, y.dtype(), [&]<class V>() {
    const auto* from = static_cast<const V*>(values.data());
    const V& other = *static_cast<const V*>(otherwise);
    V* to = static_cast<V*>(y.data());
    parallel_for(x.size(), 1 << 12, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = place.find(x[k]);
        to[k] = at < 0 ? other : from[at];
      }
    });
  });
}

/// The same where each string stands for one integer, and x may be either.
template <class T>
void map_names(TensorView<const T> x, std::span<const std::string> names, std::span<const int64_t> numbers,
               const std::string& other_name, const int64_t& other_number, AnyOut y) {
  if constexpr (std::is_same_v<T, std::string>) {
    const AnyView values = TensorView<const int64_t>(numbers.data(), {static_cast<int64_t>(numbers.size())});
    map_labels(x, names, values, &other_number, y);
  } else {
    const AnyView values = TensorView<const std::string>(names.data(), {static_cast<int64_t>(names.size())});
    map_labels(x, numbers, values, &other_name, y);
  }
}

/// The rule of operators that turn strings into integers and back.
constexpr void infer_names(Infer& i) {
  i.out(0, i.dtype(0) == DType::string ? DType::int64 : DType::string, i.dims(0));
}

}  // namespace tenon::op
