// Function bodies of frame.hpp: the memory of values.
#pragma once

#include "tenon/graph/frame.hpp"

namespace tenon::TENON_ABI::detail {

inline void Frame::admit(const Budget& budget) const {
  if (budget.meter() == nullptr || planned_bytes_ <= budget.meter()->left()) return;
  const Graph::Node* greatest = nullptr;
  int64_t most = -1;
  for (const Graph::Node& n : program_.nodes())
    for (ValueId v : n.outputs)
      if (const int64_t bytes = bytes_of(v); bytes > most) greatest = &n, most = bytes;
  raise(ErrorCode::limit, greatest ? describe(*greatest) : "plan", "the values of the run take ",
        planned_bytes_, " bytes, this node's ", most, ", and ", budget.meter()->left(),
        " are left of the bound of ", budget.meter()->bound());
}

inline int64_t Frame::planned_bytes() const {
  int64_t bytes = plan_.arena_bytes;
  for (std::size_t v = 0; v < plan_.values.size(); ++v) {
    const Plan::Entry& e = plan_.values[v];
    if (e.root != static_cast<int>(v) || (e.place != Place::own && e.place != Place::output)) continue;
    const int64_t more = bytes_of(static_cast<ValueId>(v));
    bytes = more > no_bound - bytes ? no_bound : bytes + more;
  }
  return bytes;
}

inline int64_t Frame::bytes_of(ValueId v) const {
  const Plan::Entry& e = entry(v);
  if (e.place != Place::arena && e.place != Place::own && e.place != Place::output) return 0;
  return packed_bytes(element_count(e.info.dims.extents()), e.info.type.element);
}

inline void Frame::bind(std::span<const Value* const> inputs, const op::Context* outer,
                        std::span<Value> outputs) {
  for_each_given(program_, inputs, outer, [&](std::size_t k, const Value& v) {
    Value& given = at(program_.given()[k].value);
    given = v;
    // A result that shares the caller's elements must not allow writing them. Values of an outer run are
    // its own.
    if (outer == nullptr && given.is_tensor()) given.tensor().forbid_writing();
  });
  bind_outputs(outputs);
}

inline void Frame::unbind() {
  for (const Program::Given& g : program_.given())
    if (entry(g.value).place == Place::given) at(g.value) = Value();
  for (Storage& s : outputs_) s = Storage();
}

inline void Frame::place(ValueId v) {
  const Plan::Entry& e = entry(v);
  const op::Info& i = e.info;
  switch (e.place) {
    case Place::fixed:
      if (program_.stored(v)) {
        at(v) = program_.stored(v).read_only();  // results may share it
      } else if (e.root == v) {
        at(v) = integers(i);
      } else {
        at(v) = at(e.root).tensor().reshaped(i.dims.extents());
      }
      break;
    case Place::arena: {
      const int64_t bytes = packed_bytes(element_count(i.dims.extents()), i.type.element);
      std::byte* start =
          arena_.as<std::byte>() + plan_.values[static_cast<std::size_t>(e.root)].offset + e.shift;
      at(v) = AnyTensor(i.type.element, i.dims.extents(),
                        Storage::borrow(start, static_cast<std::size_t>(bytes)));
      break;
    }
    case Place::own:
      at(v) = e.root == v ? AnyTensor::uninitialized(i.type.element, i.dims.extents(), allocator())
                          : at(e.root).tensor().reshaped(i.dims.extents());
      break;
    case Place::output: bound_.push_back(v); break;
    case Place::none:
    case Place::given:
    case Place::run_time: break;
  }
}

inline AnyTensor Frame::integers(const op::Info& i) {
  AnyTensor t = AnyTensor::uninitialized(i.type.element, i.dims.extents(), allocator());
  for (int k = 0; k < i.propagated.size(); ++k) {
    if (i.type.element == DType::int64) t.out().as<int64_t>()[k] = i.propagated[k].value();
    else t.out().as<int32_t>()[k] = static_cast<int32_t>(i.propagated[k].value());
  }
  return t;
}

inline void Frame::bind_outputs(std::span<Value> outputs) {
  bool moved = false;  // since the last run
  for (ValueId v : bound_) {
    const Plan::Entry& e = entry(v);
    if (e.root != v) continue;
    Storage& storage = outputs_[static_cast<std::size_t>(e.output)];
    const int64_t count = element_count(e.info.dims.extents());
    const DType d = e.info.type.element;
    const auto bytes = static_cast<std::size_t>(packed_bytes(count, d));
    Value& old = outputs[static_cast<std::size_t>(e.output)];
    if (const Storage* const memory = lent(static_cast<std::size_t>(e.output), static_cast<int64_t>(bytes)))
      storage = *memory;
    else if (old.is_tensor() && old.tensor().dtype() == d && old.tensor().storage().unique() &&
             old.tensor().storage().writable() && old.tensor().storage().size_bytes() == bytes)
      storage = reserved(old.tensor().storage());
    else if (d == DType::string) storage = Storage::make<std::string>(count);
    else storage = Storage::allocate(bytes, allocator());
    old = Value();
    moved |= !at(v) || at(v).tensor().data() != storage.data();
  }
  for (std::size_t k = 0; moved && k < bound_.size(); ++k) {
    const Plan::Entry& e = entry(bound_[k]);
    Storage& s = memory(bound_[k]);
    at(bound_[k]) =
        AnyTensor(e.info.type.element, e.info.dims.extents(), Storage::borrow(s.as<void>(), s.size_bytes()));
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) give(o, outputs[o]);
}

inline void Frame::give(std::size_t o, Value& output) {
  const ValueId id = program_.outputs()[o];
  const Plan::Entry& e = entry(id);
  if (e.place == Place::output) output = AnyTensor(e.info.type.element, e.info.dims.extents(), memory(id));
  // A constant is cloned, because the caller may write to the result, which must not change the session.
  if (e.place == Place::fixed)
    output = at(id).is_tensor() ? Value(at(id).tensor().clone(allocator())) : at(id);
}

inline void Frame::give_again(std::size_t o, Value& output) {
  const ValueId id = program_.outputs()[o];
  const bool bound = entry(id).place == Place::output;
  if (!output || (bound && (!output.is_tensor() || output.tensor().data() != memory(id).data())))
    give(o, output);
}

inline const Storage& Frame::reserved(const Storage& s) {
  if (meter() == nullptr) return s;
  meter()->take(static_cast<int64_t>(s.size_bytes()));
  reserved_ += static_cast<int64_t>(s.size_bytes());
  return s;
}

inline Storage& Frame::memory(ValueId v) {
  return outputs_[static_cast<std::size_t>(plan_.values[static_cast<std::size_t>(entry(v).root)].output)];
}

}  // namespace tenon::TENON_ABI::detail
