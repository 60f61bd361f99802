// StoredTrees: a TreeEnsemble, TreeEnsembleClassifier or TreeEnsembleRegressor whose trees, laid out for the
// kernel, are constants of a compiled model.
#pragma once

#include <array>

#include "tenon/base/storage.hpp"
#include "tenon/op/families/tree_ensemble.hpp"

namespace tenon::TENON_ABI::passes {

/// The results of Op. Only the attributes that concern labels are present.
template <class Op, class C>
struct StoredTrees {
  Op op{};
  std::array<Storage, 5> lists{};  ///< of the table, in the order of each_part
  int64_t features = 0;
  bool track_nan = false;
  Storage base{};
  int64_t targets = 1, only_target = -1;
  int aggregate = 0, transform = 0;
  bool negative_weights = false;

  static constexpr op::Attributes fields{op::attr("op", &StoredTrees::op),
                                         op::attr("lists", &StoredTrees::lists),
                                         op::attr("features", &StoredTrees::features),
                                         op::attr("track_nan", &StoredTrees::track_nan),
                                         op::attr("base", &StoredTrees::base),
                                         op::attr("targets", &StoredTrees::targets),
                                         op::attr("only_target", &StoredTrees::only_target),
                                         op::attr("aggregate", &StoredTrees::aggregate),
                                         op::attr("transform", &StoredTrees::transform),
                                         op::attr("negative_weights", &StoredTrees::negative_weights)};
  static constexpr op::Spec spec = op::own_spec("StoredTrees", Op::spec);

  void infer(op::Infer& i) const { op.infer(i); }
  template <class T, class... Out>
  void compute(TensorView<const T> x, Out... out) const {
    op::TreeModel<C> m{.targets = targets,
                       .aggregate = static_cast<op::TreeAggregate>(aggregate),
                       .transform = static_cast<op::PostTransform>(transform),
                       .only_target = only_target,
                       .negative_weights = negative_weights};
    const Storage* list = lists.data();
    kernels::TreeTable<C>::each_part(m.table, [&]<class P>(P& part) {
      if constexpr (std::is_same_v<P, bool>) part = track_nan;
      else if constexpr (std::is_same_v<P, int64_t>) part = features;
      else look_at(part, *list++);
    });
    look_at(m.base, base);
    op.compute_with(m, x, out...);
  }

 private:
  /// Vectors of freestanding programs refer to constants.
  template <class V>
  static void look_at(V& list, const Storage& s) {
    using T = typename V::value_type;
    list = V::listed({static_cast<const T*>(s.data()), s.size_bytes() / sizeof(T)});
  }
};

}  // namespace tenon::TENON_ABI::passes
