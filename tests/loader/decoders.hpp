// Small Llama-like language models with weights of a seed, as exporters and quantisers write them.
#pragma once

#include <cmath>
#include <limits>
#include <map>

#include "tenon/base/narrow_float.hpp"
#include "tenon/model.hpp"
#include "tests/loader/decoder_kinds.hpp"

namespace tenon::test {

/// Writes the model of a decoder: input_ids, attention_mask or cache_position, position_ids where rotations
/// are the graph's, and a key and a value for each layer.
class DecoderWriter {
 public:
  static constexpr int64_t vocabulary = 160, heads = 4, kv_heads = 2, size = 16, width = heads * size,
                           inner = 128, rows = 320;

  DecoderWriter(DecoderKind kind, uint32_t seed)
      : form_(kind.form),
        weights_(kind.weights),
        by_rows_(kind.groups_queries()),
        fixed_rows_(kind.has_fixed_rows()),
        state_(seed) {}

  Model take(int layers) {
    const std::string type = half() ? "float16" : "float";
    const std::string past = by_rows_ ? "past_rows" : fixed_rows_ ? std::to_string(rows) : "past";
    std::string inputs = "int64[batch, steps] input_ids", outputs = type + "[batch, steps, n] logits";
    inputs += fixed_rows_ ? ", int64[steps] cache_position" : ", int64[batch, total] attention_mask";
    if (!by_rows_) inputs += ", int64[batch, steps] position_ids";
    for (int layer = 0; layer < layers; ++layer)
      for (const std::string kind : {"key", "value"}) {
        const std::string end = str_cat(".", layer, ".", kind),
                          of = str_cat("[batch, ", heads_of(layer), ", ");
        const bool columns = kind == "key" && export_of(layer) == Export::columns;
        const auto extents = [&](const std::string& steps) {
          return columns ? str_cat(of, size, ", ", steps, "]") : str_cat(of, steps, ", ", size, "]");
        };
        inputs += str_cat(", ", type, extents(past), " \"past_key_values", end, "\"");
        outputs += str_cat(", ", type, extents("now"), " \"present", end, "\"");
      }
    prepare();
    std::string x = op("Gather", {real({vocabulary, width}, 1.0 / 256), "input_ids"}), before;
    for (int layer = 0; layer < layers; ++layer) {
      std::string y = norm(x, before);
      y = attend(layer, y);
      if (!by_rows_) x = op("Add", {x, y}), y.clear();
      y = gated(norm(x, y));
      if (by_rows_) before = y;
      else x = op("Add", {x, y});
    }
    const std::string head = real({width, vocabulary}, 1.0 / 1024);
    nodes_ += str_cat("logits = MatMul (", norm(x, before), ", ", head, ")\n");
    Model m = parse_text(str_cat("<ir_version: 10, opset_import: [\"\" : ", opset(),
                                 ", \"com.microsoft\" : 1]>\ndecoder (", inputs, ") => (", outputs, ") {\n",
                                 nodes_, "}"));
    for (const auto& [name, value] : constants_) m.add_initializer(name, value);
    return m;
  }

 private:
  bool half() const { return weights_ == Weights::float16; }
  bool elementary() const { return form_ == Form::concat || form_ == Form::mixed || form_ == Form::indexed; }
  int opset() const { return elementary() || by_rows_ ? 18 : form_ == Form::scatter ? 24 : 23; }

  /// How a layer's attention is written.
  enum class Export : uint8_t {
    plain,
    choice,   // a Where hides later keys, a sum padding; halves are widened before the product
    joined,   // the batch and the heads are one axis, the mask has a bound
    capped,   // scores are capped, and weights that are NaN are 0
    columns,  // the past has the transposes of keys
    turned,   // keys are transposed with the batch and the heads in one axis
    apart,    // the same for the product alone, and an addend that is 0
  };
  Export export_of(int layer) const {
    if (form_ != Form::mixed) return Export::plain;
    return static_cast<Export>(1 + (layer + static_cast<int>(weights_)) % 6);
  }

  /// The heads of keys and values.
  int64_t heads_of(int layer) const { return export_of(layer) == Export::columns ? heads : kv_heads; }

  // --- values ---

  std::string name() { return str_cat("v", count_++); }
  /// A node's result; `call` is the operator with its attributes.
  std::string op(std::string_view call, const std::vector<std::string>& operands) {
    return ops(call, operands, 1)[0];
  }
  std::vector<std::string> ops(std::string_view call, const std::vector<std::string>& operands,
                               std::size_t count, std::vector<std::string> results = {}) {
    while (results.size() < count) results.push_back(name());
    std::string left, right;
    for (const std::string& r : results) left += (left.empty() ? "" : ", ") + quoted(r);
    for (const std::string& o : operands) right += (&o == operands.data() ? "" : ", ") + quoted(o);
    nodes_ += str_cat(left, " = ", call, " (", right, ")\n");
    return results;
  }
  static std::string quoted(const std::string& value) { return str_cat("\"", value, "\""); }

  std::string constant(Value value) {
    constants_.emplace_back(name(), std::move(value));
    return constants_.back().first;
  }
  std::string list(std::vector<int64_t> numbers) {
    return constant(Tensor<int64_t>({static_cast<int64_t>(numbers.size())}, numbers));
  }
  template <class T, class F>
  std::string filled(const Extents& extents, F next) {
    Tensor<T> t = Tensor<T>::uninitialized(extents);
    for (T& x : t) x = static_cast<T>(next());
    return constant(std::move(t));
  }
  /// A float32, or float16 where the model is of that, of numbers next().
  template <class F>
  std::string floats(const Extents& extents, F next) {
    return half() ? filled<float16>(extents, [&] { return static_cast<float>(next()); })
                  : filled<float>(extents, next);
  }
  std::string number(double x) {
    return floats({}, [x] { return x; });
  }
  std::string real(const Extents& extents, double unit) {
    return floats(extents, [&] { return draw(-511, 511) * unit; });
  }
  /// A whole number in [low, high].
  int draw(int low, int high) {
    state_ ^= state_ << 13, state_ ^= state_ >> 17, state_ ^= state_ << 5;
    return low + static_cast<int>(state_ % static_cast<uint32_t>(high - low + 1));
  }

  // --- products ---

  std::string product(const std::string& x, int64_t in, int64_t out) {
    // Of about the deviation 1.2 / sqrt(in): integers are uniform.
    const double deviation = 1.2 / std::sqrt(static_cast<double>(in));
    const auto bytes = [&] { return filled<int8_t>({in, out}, [&] { return draw(-63, 63); }); };
    switch (weights_) {
      case Weights::float32:
      case Weights::float16: return op("MatMul", {x, real({in, out}, in == width ? 1.0 / 2048 : 1.0 / 2896)});
      case Weights::dynamic: {
        const std::vector<std::string>& q = quantized(x);
        const std::string w = bytes(), zero = constant(Tensor<int8_t>({}, {0}));
        const std::string y = op("Cast <to = 1>", {op("MatMulInteger", {q[0], w, q[2], zero})});
        return op("Mul", {y, op("Mul", {q[1], number(deviation / 36.4)})});
      }
      case Weights::qdq: {
        const std::string w =
            op("DequantizeLinear <axis = 1>",
               {bytes(), filled<float>({out}, [&] { return draw(192, 320) * deviation / 9318; }),
                filled<int8_t>({out}, [] { return 0; })});
        return rounded(op("MatMul", {rounded(x, 1.0 / 32), w}), 1.0 / 24);
      }
      case Weights::four_bits:
      case Weights::rounded: break;
    }
    const int64_t blocks = in / 32;
    std::vector<std::string> operands{
        x, filled<uint8_t>({out, blocks, 16}, [&] { return draw(0, 255); }),
        filled<float>({out, blocks}, [&] { return draw(192, 320) * deviation / 1180; })};
    if (out == inner) operands.push_back(filled<uint8_t>({out, blocks / 2}, [&] { return draw(6, 9) * 17; }));
    return op(str_cat("com.microsoft.MatMulNBits <K = ", in, ", N = ", out, ", bits = 4, block_size = 32",
                      weights_ == Weights::rounded ? ", accuracy_level = 4>" : ">"),
              operands);
  }
  /// The integers, the scale and the zero point of DynamicQuantizeLinear, one for all products of x.
  const std::vector<std::string>& quantized(const std::string& x) {
    std::vector<std::string>& q = quantized_[x];
    if (q.empty()) q = ops("DynamicQuantizeLinear", {x}, 3);
    return q;
  }
  std::string rounded(const std::string& x, double unit) {
    const std::string scale = number(unit), zero = constant(Tensor<uint8_t>({}, {128}));
    return op("DequantizeLinear", {op("QuantizeLinear", {x, scale, zero}), scale, zero});
  }

  // --- layers ---

  // What all layers read.
  void prepare() {
    if (elementary()) {
      // Angles are computed in the graph, and so is the mask that is added to scores.
      const std::string at = op("Unsqueeze", {op("Cast <to = 1>", {"position_ids"}), list({2})});
      const std::string rates =
          filled<float>({1, size / 2}, [k = 0]() mutable { return std::pow(10000.0, -2.0 * k++ / size); });
      const std::string half_angles = op("MatMul", {at, rates});
      const std::string angles =
          op("Unsqueeze", {op("Concat <axis = -1>", {half_angles, half_angles}), list({1})});
      cosines_ = as_model(op("Cos", {angles})), sines_ = as_model(op("Sin", {angles}));
      if (form_ == Form::indexed) {
        mask_ = op("Where", {earlier_rows(), number(0), number(-65504)});
        return;
      }
      const std::string earlier = earlier_keys(), tokens = mask_of_tokens();
      mask_ = op("Where", {op("And", {earlier, tokens}), number(0), number(-65504)});
      if (form_ == Form::concat) return;
      shown_ = earlier;
      padding_ = op("Where", {tokens, constant(Tensor<float>({}, {0})), least()});
      return;
    }
    const auto table = [&](double (*f)(double)) {
      return floats({rows, size / 2}, [f, k = 0]() mutable {
        const int row = k / (size / 2), pair = k++ % (size / 2);
        return f(row * std::pow(10000.0, -2.0 * pair / size));
      });
    };
    cosines_ = table(std::cos), sines_ = table(std::sin);
    if (form_ == Form::scatter) {
      const std::string batch = op("Shape <start = 0, end = 1>", {"input_ids"});
      const std::string first = op("Slice", {"cache_position", list({0}), list({1})});
      const std::string last = op("Slice", {"cache_position", list({-1}), list({rows})});
      writes_ = op("Expand", {first, batch});
      counts_ = op("Expand", {op("Add", {last, list({1})}), batch});
      mask_ = earlier_rows();
    } else if (by_rows_) {
      const std::string tokens = op("ReduceSum <keepdims = 0>", {"attention_mask", list({1})});
      counts_ = op("Cast <to = 6>", {op("Sub", {tokens, list({1})})});
      const std::string total =
          op("Gather", {op("Shape", {"attention_mask"}), constant(Tensor<int64_t>({}, {1}))});
      total_ = op("Cast <to = 6>", {total});
    } else if (form_ == Form::attention) {
      mask_ = op("And", {earlier_keys(), mask_of_tokens()});
    } else {
      const std::string steps = op("Shape <start = 1, end = 2>", {"input_ids"});
      mask_ = op("Expand", {mask_of_tokens(), op("Concat <axis = 0>", {list({1, 1}), steps, list({1})})});
    }
  }
  /// Which keys are no later than a query, (steps, total).
  std::string earlier_keys() {
    const std::string past = op("Shape <start = 2, end = 3>", {"past_key_values.0.value"});
    const std::string total = op("Add", {past, op("Shape <start = 1, end = 2>", {"input_ids"})});
    const std::string zero = constant(Tensor<int64_t>({}, {0})), one = constant(Tensor<int64_t>({}, {1}));
    const std::string end = op("Squeeze", {total});
    const std::string keys = op("Range", {zero, end, one});
    const std::string queries = op("Range", {op("Squeeze", {past}), end, one});
    return op("LessOrEqual", {keys, op("Unsqueeze", {queries, list({1})})});
  }
  /// The same of all rows, (steps, rows).
  std::string earlier_rows() {
    const std::string keys = filled<int64_t>({rows}, [k = 0]() mutable { return k++; });
    return op("LessOrEqual", {keys, op("Unsqueeze", {"cache_position", list({1})})});
  }
  /// Which keys are tokens, (batch, 1, 1, total).
  std::string mask_of_tokens() {
    return op("Unsqueeze", {op("Cast <to = 9>", {"attention_mask"}), list({1, 2})});
  }
  std::string as_model(const std::string& x) { return half() ? op("Cast <to = 10>", {x}) : x; }

  /// Normalises x + y, which becomes x; y may be absent.
  std::string norm(std::string& x, const std::string& y) {
    const std::string scale = floats({width}, [&] { return draw(192, 320) / 256.0; });
    if (elementary()) {
      const std::string wide = half() ? op("Cast <to = 1>", {x}) : x;
      const std::string mean = op("ReduceMean <keepdims = 1>",
                                  {op("Pow", {wide, filled<float>({}, [] { return 2; })}), list({-1})});
      const std::string root = op("Sqrt", {op("Add", {mean, filled<float>({}, [] { return 1e-5; })})});
      return op("Mul", {scale, as_model(op("Div", {wide, root}))});
    }
    if (!by_rows_) return op("RMSNormalization <axis = -1, epsilon = 1e-5>", {x, scale});
    if (y.empty()) return op("SimplifiedLayerNormalization <axis = -1, epsilon = 1e-5>", {x, scale});
    const std::vector<std::string> of = ops("com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 1e-5>",
                                            {x, y, scale}, 4, {name(), "", "", name()});
    x = of[3];
    return of[0];
  }
  std::string gated(const std::string& x) {
    const std::string gate = product(x, width, inner), up = product(x, width, inner);
    return product(op("Mul", {op("Mul", {gate, op("Sigmoid", {gate})}), up}), inner, width);
  }

  std::string by_heads(const std::string& x, int64_t count) {
    return op("Transpose <perm = [0, 2, 1, 3]>", {op("Reshape", {x, list({0, 0, count, size})})});
  }
  std::string side_by_side(const std::string& x) {
    return op("Reshape", {op("Transpose <perm = [0, 2, 1, 3]>", {x}), list({0, 0, -1})});
  }

  std::string attend(int layer, const std::string& x) {
    const auto past = [&](const char* kind) { return str_cat("past_key_values.", layer, ".", kind); };
    const auto present = [&](const char* kind) { return str_cat("present.", layer, ".", kind); };
    const std::vector<std::string> results{name(), present("key"), present("value")};
    const int64_t kv_width = heads_of(layer) * size;
    if (form_ == Form::packed_group_query) {
      return projected(ops(str_cat(group_query(), ", local_window_size = 24>"),
                           {product(x, width, width + 2 * kv_width), "", "", past("key"), past("value"),
                            counts_, total_, cosines_, sines_},
                           3, results)[0]);
    }
    std::string q = product(x, width, width), k = product(x, width, kv_width),
                v = product(x, width, kv_width);
    if (form_ == Form::group_query)
      return projected(ops(group_query() + ">",
                           {q, k, v, past("key"), past("value"), counts_, total_, cosines_, sines_}, 3,
                           results)[0]);
    if (form_ == Form::packed_attention) {
      const auto turned = [&](const std::string& y, int64_t count) {
        return op(str_cat("RotaryEmbedding <num_heads = ", count, ">"),
                  {y, cosines_, sines_, "position_ids"});
      };
      return projected(
          ops(str_cat("Attention <is_causal = 1, q_num_heads = ", heads, ", kv_num_heads = ", kv_heads, ">"),
              {turned(q, heads), turned(k, kv_heads), v, mask_, past("key"), past("value")}, 3, results)[0]);
    }
    q = turned(by_heads(q, heads)), k = turned(by_heads(k, heads_of(layer))),
    v = by_heads(v, heads_of(layer));
    std::string y;
    if (form_ == Form::attention) {
      y = ops("Attention", {q, k, v, mask_, past("key"), past("value")}, 3, results)[0];
    } else if (form_ == Form::scatter) {
      k = ops("TensorScatter", {past("key"), k, writes_}, 1, {results[1]})[0];
      v = ops("TensorScatter", {past("value"), v, writes_}, 1, {results[2]})[0];
      y = op("Attention", {q, k, v, mask_, "", "", counts_});
    } else if (form_ == Form::mixed) {
      y = exported(layer, q, k, v, results);
    } else {
      const auto extend = [&](const char* kind, const std::string& fresh, const std::string& result) {
        return repeated(form_ == Form::indexed
                            ? written(past(kind), fresh, result)
                            : ops("Concat <axis = 2>", {past(kind), fresh}, 1, {result})[0]);
      };
      k = extend("key", k, results[1]), v = extend("value", v, results[2]);
      const std::string x = scaled(op("MatMul", {q, op("Transpose <perm = [0, 1, 3, 2]>", {k})}));
      y = op("MatMul", {op("Softmax <axis = -1>", {masked(x)}), v});
    }
    return projected(side_by_side(y));
  }
  /// The past with the rows of `fresh` at cache_position.
  std::string written(const std::string& past, const std::string& fresh, const std::string& result) {
    const std::string others = op("Gather", {op("Shape", {past}), list({0, 1, 3})}),
                      extents = op("Concat <axis = 0>", {op("Shape", {"cache_position"}), others}),
                      front = op("Transpose <perm = [2, 0, 1, 3]>", {past}),
                      turned = op("Transpose <perm = [2, 0, 1, 3]>", {fresh}),
                      all = op("ScatterND", {front, op("Unsqueeze", {"cache_position", list({-1})}),
                                             op("Expand", {turned, extents})});
    return ops("Transpose <perm = [1, 2, 0, 3]>", {all}, 1, {result})[0];
  }
  std::string exported(int layer, std::string q, std::string k, std::string v,
                       const std::vector<std::string>& results) {
    const Export as = export_of(layer);
    const auto extend = [&](const char* kind, const std::string& fresh, const char* axis) {
      const std::size_t result = kind[0] == 'k' ? 1 : 2;
      return ops(str_cat("Concat <axis = ", axis, ">"),
                 {str_cat("past_key_values.", layer, ".", kind), fresh}, 1, {results[result]})[0];
    };
    v = extend("value", v, "2");
    if (as == Export::columns) {
      k = extend("key", op("Transpose <perm = [0, 1, 3, 2]>", {k}), "-1");
      return op("MatMul", {op("Softmax <axis = -1>", {masked(scaled(op("MatMul", {q, k})))}), v});
    }
    const std::string present = extend("key", k, "2");
    k = repeated(present), v = repeated(v);
    if (as == Export::turned) {
      const auto part = [&](int64_t first, int64_t end) {
        return op("Slice", {op("Shape", {k}), list({first}), list({end})});
      };
      const std::string root = number(1 / std::sqrt(std::sqrt(size))), last = part(-1, INT64_MAX),
                        joined = op("Concat <axis = 0>", {list({-1}), part(-2, -1), last}),
                        columns = op("Transpose <perm = [0, 2, 1]>", {op("Reshape", {k, joined})}),
                        apart = op("Concat <axis = 0>", {part(INT64_MIN, -2), last, part(-2, -1)});
      k = op("Mul", {op("Reshape", {columns, apart}), root});
      const std::string x = op("Softmax <axis = -1>", {masked(op("MatMul", {op("Mul", {q, root}), k}))});
      return op("MatMul", {x, v});
    }
    if (as == Export::joined || as == Export::apart) {
      const std::string entries = op("Gather", {op("Shape", {"input_ids"}), integer(0)}),
                        steps = op("Gather", {op("Shape", {"input_ids"}), integer(1)}),
                        all = op("Mul", {entries, integer(heads)});
      const auto extents = [&](const std::vector<std::string>& parts) {
        std::vector<std::string> lists;
        for (const std::string& p : parts) lists.push_back(op("Unsqueeze", {p, list({0})}));
        return op("Concat <axis = 0>", lists);
      };
      const std::string rows = extents({all, integer(-1), integer(size)});
      std::string keys;
      q = op("Reshape", {q, rows});
      if (as == Export::joined) {
        k = op("Reshape", {k, rows}), v = op("Reshape", {v, rows});
        keys = op("Gather", {op("Shape", {k}), integer(1)});
      } else {
        keys = op("Gather", {op("Shape", {present}), integer(2)});
        k = op("Reshape", {k, extents({all, keys, integer(size)})});
      }
      std::string x = scaled(op("MatMul", {q, op("Transpose <perm = [0, 2, 1]>", {k})}));
      if (as == Export::apart) {
        const std::string zeros = op(half() ? "ConstantOfShape <value = float16[1] {0}>" : "ConstantOfShape",
                                     {extents({all, steps, keys})});
        x = op("Add", {zeros, x});
      }
      x = masked(op("Reshape", {x, extents({entries, integer(heads), steps, keys})}));
      if (as == Export::apart) return op("MatMul", {op("Softmax <axis = -1>", {x}), v});
      x = op("Max", {x, number(half() ? -65504 : std::numeric_limits<float>::lowest())});
      x = op("Softmax <axis = -1>", {op("Reshape", {x, extents({all, steps, keys})})});
      return op("Reshape", {op("MatMul", {x, v}), extents({entries, integer(heads), steps, integer(size)})});
    }
    if (as == Export::choice && half()) q = op("Cast <to = 1>", {q}), k = op("Cast <to = 1>", {k});
    std::string x = op("MatMul", {q, op("Transpose <perm = [0, 1, 3, 2]>", {k})});
    if (as == Export::choice) {
      x = op("Where", {shown_, x, least()});
      x = op("Add", {op("Div", {x, constant(Tensor<float>({}, {std::sqrt(float{size})}))}), padding_});
      return op("MatMul", {as_model(op("Softmax <axis = -1>", {x})), v});
    }
    x = op("Mul", {op("Tanh", {op("Div", {scaled(x), number(4)})}), number(4)});
    x = op("Softmax <axis = -1>", {masked(x)});
    return op("MatMul", {op("Where", {op("IsNaN", {x}), number(0), x}), v});
  }
  std::string scaled(const std::string& scores) { return op("Mul", {scores, number(1 / std::sqrt(size))}); }
  std::string masked(const std::string& scores) { return op("Add", {scores, mask_}); }
  std::string integer(int64_t n) { return constant(Tensor<int64_t>({}, {n})); }
  std::string least() { return constant(Tensor<float>({}, {std::numeric_limits<float>::lowest()})); }
  std::string projected(const std::string& y) { return product(y, width, width); }
  static std::string group_query() {
    return str_cat("com.microsoft.GroupQueryAttention <num_heads = ", heads, ", kv_num_heads = ", kv_heads,
                   ", do_rotary = 1");
  }
  /// The rotation of (batch, heads, steps, size).
  std::string turned(const std::string& x) {
    if (!elementary()) return op("RotaryEmbedding", {x, cosines_, sines_, "position_ids"});
    const std::string half_size = list({size / 2}), axis = list({3});
    const std::string low = op("Slice", {x, list({0}), half_size, axis});
    const std::string high = op("Slice", {x, half_size, list({INT64_MAX}), axis});
    const std::string across = op("Concat <axis = -1>", {op("Neg", {high}), low});
    return op("Add", {op("Mul", {x, cosines_}), op("Mul", {across, sines_})});
  }
  /// Each head of keys or values once for each of the heads that share it.
  std::string repeated(const std::string& x) {
    const std::string apart = op("Unsqueeze", {x, list({2})});
    const std::string all = op("Expand", {apart, list({1, 1, heads / kv_heads, 1, 1})});
    return op("Reshape", {all, list({0, heads, -1, size})});
  }

  Form form_;
  Weights weights_;
  bool by_rows_, fixed_rows_;
  uint32_t state_;
  int count_ = 0;
  std::string nodes_;
  std::vector<std::pair<std::string, Value>> constants_;
  std::map<std::string, std::vector<std::string>> quantized_;
  std::string cosines_, sines_, mask_, shown_, padding_, writes_, counts_, total_;
};

/// The decoder of a kind, of two to four layers.
inline Model decoder_model(const DecoderKind& kind) {
  const int f = static_cast<int>(kind.form), w = static_cast<int>(kind.weights);
  return DecoderWriter(kind, static_cast<uint32_t>(1000 + 10 * f + w)).take(2 + (f + w) % 3);
}

}  // namespace tenon::test
