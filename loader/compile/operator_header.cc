// The header of an operator by name.
#include <algorithm>

#include "loader/compile/amalgamate.hpp"
#include "loader/compile/cpp_text.hpp"
#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI {

namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = amalgamation::lower_case(c);
  return lower;
}

// The edit distance: the number of letters to be replaced, inserted or removed.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string operator_header(const Registry& registry, std::string_view name) {
  const OperatorClass* found = nullptr;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const auto& [key, versions] : registry.operators()) {
    const auto& [domain, op] = key;
    const std::string whole = domain.empty() ? op : str_cat(domain, ".", op);
    const OperatorClass* const newest = versions.rbegin()->second;
    if (registry.source(*newest).header.empty()) continue;
    // ai.onnx comes first among the domains that have an operator of a name.
    if (name == whole || (name == op && found == nullptr)) found = newest;
    const std::string ours = lower_case(op), theirs = lower_case(name);
    const bool within = theirs.size() > 2 && ours.find(theirs) != ours.npos;
    const std::size_t far = within ? ours.size() > theirs.size() : edits(ours, theirs);
    if (far <= std::max<std::size_t>(1, name.size() / 3)) near.emplace_back(far, op);
  }
  if (found != nullptr) {
    if (found->spec->linked)
      throw Error(ErrorCode::not_supported, std::string(name),
                  "this operator needs other libraries, which no header can hold");
    return std::string(registry.source(*found).header);
  }
  std::ranges::sort(near);
  std::string names;
  for (std::size_t k = 0; k < std::min<std::size_t>(near.size(), 5); ++k)
    names += str_cat(k == 0 ? "; near it: " : ", ", near[k].second);
  throw Error(ErrorCode::invalid_argument, std::string(name.substr(0, 80)), str_cat("is no operator", names));
}

}  // namespace tenon::TENON_ABI
