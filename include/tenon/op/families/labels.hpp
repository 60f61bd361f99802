// Operators that map each element to the value of an equal key.
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/kernels/lookup.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The types of keys and values.
using label_types = TypeList<int64_t, float, std::string, int32_t, int16_t, double>;

/// A list as a view.
template <class T>
AnyView list_view(const std::vector<T>& list) {
  return TensorView<const T>(list.data(), {static_cast<int64_t>(list.size())});
}

/// y = the values at the places of the elements of x among keys, else `otherwise`, a value of their type.
template <class K>
void map_labels(const kernels::Lookup<K>& place, TensorView<const K> x, AnyView values, const void* otherwise,
                AnyOut y) {
  visit_types(label_types{}, y.dtype(), [&]<class V>() {
    const auto* from = static_cast<const V*>(values.data());
    const V& other = *static_cast<const V*>(otherwise);
    V* to = static_cast<V*>(y.data());
    parallel_for(x.size(), task_work::searches, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = place.find(x[k]);
        to[k] = at < 0 ? other : from[at];
      }
    });
  });
}

/// Strings that stand for one integer each. Elements of either kind become the other.
struct NumberedNames {
  const std::vector<std::string>& names;
  const std::vector<int64_t>& numbers;
  const std::string& other_name;
  const int64_t& other_number;

  static constexpr void infer(Infer& i) {
    i.out(0, i.dtype(0) == DType::string ? DType::int64 : DType::string, i.dims(0));
  }
  template <class T>
  kernels::Lookup<T> lookup() const {
    if constexpr (std::is_same_v<T, std::string>) return kernels::Lookup<T>{names};
    else return kernels::Lookup<T>{numbers};
  }
  template <class T>
  void map(const kernels::Lookup<T>& place, TensorView<const T> x, AnyOut y) const {
    if constexpr (std::is_same_v<T, std::string>) map_labels(place, x, list_view(numbers), &other_number, y);
    else map_labels(place, x, list_view(names), &other_name, y);
  }
};

}  // namespace tenon::TENON_ABI::op
