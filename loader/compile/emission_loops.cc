// Loop and Scan.
#include <algorithm>

#include "loader/compile/emission.hpp"
#include "tenon/op/controlflow/loop.hpp"

namespace tenon::TENON_ABI::emission {

namespace {

/// An array as (outer, extent, inner), whose entries along the middle axis bodies read or give.
struct Entries {
  DType type;
  int64_t outer, extent, inner;

  Entries(const op::Info& i, int64_t axis) : type(i.type.element) {
    const Extents e = i.dims.extents();
    const auto [before, at, after] = split_at(e, resolve_axis(axis, e.size()));
    outer = before, extent = at, inner = after;
  }
  int64_t bytes() const { return packed_bytes(outer * inner, type); }
  /// Whether each entry is memory of its own within the array.
  bool contiguous() const { return outer == 1 && inner * bits_of(type) % 8 == 0; }
  std::string arguments(const std::string& number) const {
    return str_cat(outer, ", ", extent, ", ", inner, ", ", number);
  }
};

std::string byte_at(const std::string& pointer, const std::string& number, int64_t bytes) {
  return str_cat("byte_at(", pointer, ", ", number, " * ", bytes, ")");
}
std::string entry_number(bool reverse, const std::string& step, std::string_view steps) {
  return reverse ? str_cat("(", steps, " - 1 - ", step, ")") : step;
}

}  // namespace

/// A loop's states and results, step by step. Each state is read at `from` and written at `to`, which
/// alternates between the result's memory and more of the same size.
class Emission::Steps {
 public:
  Steps(Emission& e, const Graph::Node& n) : step(e.local("trip")), e_(e), n_(n) {
    e.headers_.insert("tenon/op/families/compiled_bodies.hpp");
  }

  /// The number of the step, in the text.
  const std::string step;
  std::vector<std::string> in;  // the body's
  std::vector<Target> out;

  /// The text before the steps, of the steps, and after them.
  std::string open, before, after, close;

  /// A state that begins at `initial`. Its last value goes to `result`, if this is not empty.
  void add_state(const Program& body, int64_t bytes, const std::string& initial, std::string result) {
    const std::size_t o = out.size(), k = in.size();
    const std::string from = e_.local("state");
    open += str_cat("  [[maybe_unused]] const void* ", from, " = ", initial, ";\n");
    in.push_back(from);
    out.push_back({.anyhow = false});
    if (!result.empty() && bytes > 0)
      close +=
          str_cat("  if (", from, " != ", result, ") std::memcpy(", result, ", ", from, ", ", bytes, ");\n");
    if (body.outputs()[o] == body.given()[k].value) return;  // stays the same
    if (result.empty()) result = e_.take(bytes);
    const std::string to = e_.local("next"), other = e_.take(bytes);
    open += str_cat("  void* ", to, " = ", result, ";\n");
    after += str_cat("  ", from, " = ", to, ";\n  ", to, " = ", to, " == ", result, " ? ", other, " : ",
                     result, ";\n");
    out.back() = {to};
  }
  /// Entry `number` of an array as an input.
  void add_slice(const Entries& x, const std::string& pointer, const std::string& number) {
    if (x.contiguous()) {
      in.push_back(byte_at(pointer, number, x.bytes()));
      return;
    }
    in.push_back(e_.take(x.bytes()));
    before += str_cat("  take_entry(", literal(x.type), ", ", in.back(), ", ", pointer, ", ",
                      x.arguments(number), ");\n");
  }
  /// A result that becomes entry `number` of an array.
  void add_result(const Entries& y, const std::string& pointer, const std::string& number) {
    if (y.contiguous()) {
      out.push_back({byte_at(pointer, number, y.bytes())});
      return;
    }
    out.push_back({e_.take(y.bytes())});
    after += str_cat("  put_entry(", literal(y.type), ", ", pointer, ", ", out.back().at, ", ",
                     y.arguments(number), ");\n");
  }
  /// Writes the body, and returns where it leaves result `o`.
  const std::string& write(std::size_t o = 0) {
    body_ = e_.body(n_, "body", in, out);
    return out[o].at;
  }
  /// The loop. `go_on` is an expression; `next` stands between the body and what updates the states.
  std::string text(const std::string& go_on, const std::string& next = {}) const {
    return str_cat(open, "  for (std::int64_t ", step, " = 0; ", go_on, "; ++", step, ") {\n",
                   indented(before), body_, indented(str_cat(next, after)), "  }\n", close);
  }

 private:
  std::string body_;
  Emission& e_;
  const Graph::Node& n_;
};

std::string Emission::result_of(const Graph::Node& n, std::size_t k) {
  return k < n.outputs.size() ? pointer(n.outputs[k]) : std::string();
}

std::string Emission::braced(const Graph::Node& n, std::string_view text) {
  return str_cat("  {  // ", comment(tenon::detail::describe(n)), "\n", indented(text), "  }\n");
}

const op::Info& Emission::given_state(const Graph::Node& n, std::size_t input, std::size_t state) {
  const op::Info& i = bodies_.given(n, "body")[input];
  if (i.type.kind != Kind::tensor || i.type.element == DType::string)
    throw Refused{str_cat("state ", state, " is no tensor of numbers")};
  if (!i.dims.known())
    throw Refused{str_cat("the extents of state ", state, " change, or are known in the run only")};
  types_.insert(i.type.element);
  return i;
}

std::string Emission::loop(const Graph::Node& n) {
  const Program& body = body_of(n, "body").program();
  const std::size_t states = n.inputs.size() > 2 ? n.inputs.size() - 2 : 0;
  const auto input = [&](std::size_t k) { return k < n.inputs.size() ? n.inputs[k] : -1; };
  for (std::size_t k = 0; k < states; ++k) {
    if (n.inputs[k + 2] < 0) throw Refused{str_cat("state ", k, " is left out")};
    given_state(n, k + 2, k);
  }
  for (std::size_t k = states; k < n.outputs.size(); ++k)
    if (const Dims& y = entry(n.outputs[k]).info.dims; y.ranked() && !y[0].known())
      throw Refused{str_cat("result ", k,
                            " has an entry for each run of the body, whose number is known in "
                            "the run only")};
  expect_placed(n);
  Steps steps(*this, n);
  const std::string go = local("go"), most = local("steps");
  std::string text =
      str_cat("  bool ", go, " = ",
              input(1) >= 0 ? str_cat("at<const bool>(", pointer(input(1)), ").item()") : "true", ";\n");
  std::string go_on = go;
  if (input(0) >= 0) {
    text += str_cat("  const std::int64_t ", most, " = at<const std::int64_t>(", pointer(input(0)),
                    ").item();\n");
    go_on += str_cat(" && ", steps.step, " < ", most);
  }
  steps.in = {str_cat("&", steps.step), str_cat("&", go)};
  steps.out = {{.anyhow = false}};
  for (std::size_t k = 0; k < states; ++k)
    steps.add_state(body, bytes_of(given_state(n, k + 2, k)), pointer(n.inputs[k + 2]), result_of(n, k));
  for (std::size_t k = states; k < n.outputs.size(); ++k)
    steps.add_result(Entries(entry(n.outputs[k]).info, 0), pointer(n.outputs[k]), steps.step);
  const std::string condition = steps.write();
  const std::string next =
      input(1) >= 0 ? str_cat("  ", go, " = at<const bool>(", condition, ").item();\n") : std::string();
  return braced(n, str_cat(text, steps.text(go_on, next)));
}

std::string Emission::scan(const Graph::Node& n, const op::Scan& s) {
  const Program& body = body_of(n, "body").program();
  const auto scanned = static_cast<std::size_t>(*s.num_scan_inputs), states = n.inputs.size() - scanned;
  const auto axis = [](const std::vector<int64_t>& axes, std::size_t k) {
    return axes.empty() ? 0 : axes[k];
  };
  for (std::size_t k = 0; k < states; ++k) given_state(n, k, k);
  expect_placed(n);
  Steps steps(*this, n);
  for (std::size_t k = 0; k < states; ++k)
    steps.add_state(body, bytes_of(given_state(n, k, k)), pointer(n.inputs[k]), result_of(n, k));
  int64_t count = 0;
  const auto number = [&](const std::vector<int64_t>& directions, std::size_t k) {
    return entry_number(k < directions.size() && directions[k] == 1, steps.step, std::to_string(count));
  };
  for (std::size_t k = 0; k < scanned; ++k) {
    const ValueId v = n.inputs[states + k];
    expect_dense(v);
    const Entries x(entry(v).info, axis(s.scan_input_axes, k));
    count = x.extent;
    steps.add_slice(x, pointer(v), number(s.scan_input_directions, k));
  }
  for (std::size_t k = states; k < n.outputs.size(); ++k)
    steps.add_result(Entries(entry(n.outputs[k]).info, axis(s.scan_output_axes, k - states)),
                     pointer(n.outputs[k]), number(s.scan_output_directions, k - states));
  steps.write();
  return braced(n, steps.text(str_cat(steps.step, " < ", count)));
}

std::string Emission::batch_scan(const Graph::Node& n, const op::Scan_8& s) {
  const Program& body = body_of(n, "body").program();
  const auto scanned = static_cast<std::size_t>(*s.num_scan_inputs), states = n.inputs.size() - 1 - scanned;
  for (std::size_t k = 0; k < states; ++k) given_state(n, k, k);
  for (std::size_t k = 1; k < n.inputs.size(); ++k) expect_dense(n.inputs[k]);
  expect_placed(n);
  const Entries longest(entry(n.inputs[states + 1]).info, 1);
  const std::string member = local("trip"), length = local("steps");
  Steps steps(*this, n);
  // Members of the batch, and the entries of all members.
  const auto part = [&](ValueId v, int axes) {
    Extents e = entry(v).info.dims.extents();
    int64_t count = 1;
    for (int k = 0; k < axes; ++k) count *= e[0], e.erase(0);
    op::Info i = entry(v).info;
    e.insert(0, count);
    i.dims = Dims(e);
    const Entries all(i, 0);
    if (!all.contiguous()) throw Refused{"entries of its operands or results share bytes"};
    return all;
  };
  const auto state_at = [&](ValueId v) { return byte_at(pointer(v), member, part(v, 1).bytes()); };
  const auto number = [&](const std::string& of_member) {
    return str_cat("(", member, " * ", longest.extent, " + ", of_member, ")");
  };
  for (std::size_t k = 0; k < states; ++k)
    steps.add_state(body, bytes_of(given_state(n, k, k)), state_at(n.inputs[k + 1]),
                    k < n.outputs.size() ? state_at(n.outputs[k]) : std::string());
  for (std::size_t k = 0; k < scanned; ++k) {
    const ValueId v = n.inputs[states + 1 + k];
    const bool reverse = k < s.directions.size() && s.directions[k] == 1;
    steps.add_slice(part(v, 2), pointer(v), number(entry_number(reverse, steps.step, length)));
  }
  for (std::size_t k = states; k < n.outputs.size(); ++k) {
    const Entries y = part(n.outputs[k], 2);
    steps.add_result(y, pointer(n.outputs[k]), number(steps.step));
    steps.close += str_cat("  std::memset(", byte_at(pointer(n.outputs[k]), number(length), y.bytes()),
                           ", 0, (", longest.extent, " - ", length, ") * ", y.bytes(), ");\n");
  }
  steps.write();
  std::string lengths = std::to_string(longest.extent);
  const int64_t batch = longest.outer;
  if (n.inputs[0] >= 0)
    lengths = str_cat("checked_length(at<const std::int64_t, ", batch, ">(", pointer(n.inputs[0]), ")[",
                      member, "], ", lengths, ")");
  return braced(n, str_cat("  for (std::int64_t ", member, " = 0; ", member, " < ", batch, "; ++", member,
                           ") {\n    const std::int64_t ", length, " = ", lengths, ";\n",
                           indented(steps.text(str_cat(steps.step, " < ", length))), "  }\n"));
}

}  // namespace tenon::TENON_ABI::emission
