#include "loader/compile/feeds.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace tenon::TENON_ABI::emission {

namespace {

// `used` receives the names that apply.
Dims stated(const Graph& g, const Graph::ValueEntry& input, const ShapeSet& shapes,
            std::set<std::string_view>& used) {
  Dims dims = input.info.dims;
  for (const auto& [name, extents] : shapes)
    if (name == input.name) {
      if (!dims.fits(Dims(extents)))
        throw Error(ErrorCode::invalid_argument, "compile",
                    str_cat("input '", name, "' does not have the extents ", to_string(extents)));
      dims = Dims(extents);
      used.insert(name);
    }
  for (int k = 0; dims.ranked() && k < dims.rank(); ++k)
    for (const auto& [name, extents] : shapes)
      if (dims[k].symbolic() && g.symbol_name(dims[k]) == name && extents.size() == 1) {
        dims[k] = extents[0];
        used.insert(name);
      }
  return dims;
}

}  // namespace

InputExtents::InputExtents(const Graph& g, const ShapeSet& shapes, const std::map<ValueId, Extents>& given) {
  std::set<std::string_view> used;
  std::map<int32_t, int64_t> symbols;
  for (const ValueId v : g.inputs()) {
    const Dims& declared = g.entry(v).info.dims;
    Dims& dims = dims_[v] = stated(g, g.entry(v), shapes, used);
    if (const auto value = given.find(v); value != given.end()) dims = Dims(value->second);
    if (!declared.ranked() || !dims.ranked() || declared.rank() != dims.rank()) continue;
    for (int k = 0; k < dims.rank(); ++k)
      if (declared[k].symbolic() && dims[k].known()) symbols.emplace(declared[k].symbol(), dims[k].value());
  }
  for (auto& [input, dims] : dims_)
    for (int k = 0; dims.ranked() && k < dims.rank(); ++k)
      if (dims[k].symbolic())
        if (const auto it = symbols.find(dims[k].symbol()); it != symbols.end()) dims[k] = it->second;
  for (const auto& [name, extents] : shapes)
    if (!unused_ && !used.contains(name)) unused_ = name;
}

AnyTensor filled(const op::Info& i, int number) {
  using numeric =
      TypeList<float, double, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
  const Extents extents = i.dims.extents();
  const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), i.type.element));
  AnyTensor numbers(i.type.element, extents, Storage::allocate(bytes));
  std::memset(numbers.out().data(), 0, bytes);
  if (number != 0)
    visit_types(numeric{}, i.type.element, [&]<class T>() {
      std::ranges::fill(numbers.out().as<T>(), sizeof(T) == 1 ? T{127} : static_cast<T>(number));
    });
  if (i.propagated.known() && numbers.size() == i.propagated.size())
    visit_types(TypeList<int64_t, int32_t, bool>{}, i.type.element, [&]<class T>() {
      for (int k = 0; k < i.propagated.size(); ++k)
        if (i.propagated[k].known()) numbers.out().as<T>()[k] = static_cast<T>(i.propagated[k].value());
    });
  return numbers;
}

Feeds feeds_for(const Graph& g, const ShapeSet& shapes, int number) {
  std::string open;
  Feeds feeds;
  const InputExtents extents(g, shapes);
  for (const ValueId v : g.inputs()) {
    const Graph::ValueEntry& e = g.entry(v);
    if (e.content) continue;
    if (e.info.type.kind != Kind::tensor || e.info.type.element == DType::string)
      throw Error(ErrorCode::not_supported, "compile",
                  str_cat("input '", e.name, "' is no tensor of numbers"));
    const Dims& dims = extents.of(v);
    if (!dims.known()) {
      std::string text = dims.ranked() ? "" : " of unknown rank";
      for (int k = 0; dims.ranked() && k < dims.rank(); ++k)
        text += str_cat(k > 0 ? "," : "(", dims[k].known()      ? std::to_string(dims[k].value())
                                           : dims[k].symbolic() ? std::string(g.symbol_name(dims[k]))
                                                                : "?");
      open += str_cat("\n  input '", e.name, "' ", text, dims.ranked() ? ")" : "");
      continue;
    }
    op::Info info = e.info;
    info.dims = dims;
    feeds.emplace_back(e.name, filled(info, number));
  }
  if (!open.empty())
    throw Error(ErrorCode::invalid_argument, "compile",
                str_cat("extents are left open; fix them with --shape NAME=NUMBER or INPUT=1x8x8:", open));
  if (extents.unused())
    throw Error(ErrorCode::invalid_argument, "compile",
                str_cat("'", *extents.unused(), "' names no input, and no extent of one that is open"));
  return feeds;
}

}  // namespace tenon::TENON_ABI::emission
