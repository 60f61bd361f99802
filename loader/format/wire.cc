#include "loader/format/wire.hpp"

#include <cstring>

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

constexpr int max_depth = 96;                  // protobuf itself stops at 100
constexpr std::size_t min_mapped_bytes = 256;  // smaller data is copied

enum class Message { model, graph, node, attribute, tensor, sparse, function, training, leaf };

// The message type of a length-delimited field that can contain tensors.
Message child(Message m, uint32_t field) {
  using enum Message;
  switch (m) {
    case model: return field == 7 ? graph : field == 20 ? training : field == 25 ? function : leaf;
    case graph: return field == 1 ? node : field == 5 ? tensor : field == 15 ? sparse : leaf;
    case node: return field == 5 ? attribute : leaf;
    case attribute:
      return field == 5 || field == 10    ? tensor
             : field == 6 || field == 11  ? graph
             : field == 22 || field == 23 ? sparse
                                          : leaf;
    case sparse: return field == 1 || field == 2 ? tensor : leaf;
    case function: return field == 7 ? node : field == 11 ? attribute : leaf;
    case training: return field == 1 || field == 2 ? graph : leaf;
    case tensor:
    case leaf: break;
  }
  return leaf;
}

class Stripper {
 public:
  explicit Stripper(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::optional<std::string> run() {
    if (!message(0, bytes_.size(), Message::model, 0, nullptr)) return {};
    std::string out;
    message(0, bytes_.size(), Message::model, 0, &out);
    return out;
  }

 private:
  [[noreturn]] static void fail(std::size_t at, const std::string& what) {
    throw Error(ErrorCode::invalid_model, str_cat("byte ", at), what);
  }

  uint64_t varint(std::size_t& at, std::size_t end) const {
    uint64_t value = 0;
    const std::size_t start = at;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end) fail(start, "the message is cut short");
      const auto b = static_cast<uint8_t>(bytes_[at++]);
      value |= static_cast<uint64_t>(b & 127) << shift;
      if (b < 128) return value;
    }
    fail(start, "not a protobuf message: a number of more than 10 bytes");
  }
  static void put_varint(std::string& out, uint64_t value) {
    for (; value > 127; value >>= 7) out.push_back(static_cast<char>((value & 127) | 128));
    out.push_back(static_cast<char>(value));
  }
  static void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.size());
    out.append(bytes);
  }
  void copy(std::size_t from, std::size_t to, std::string& out) const {
    out.append(reinterpret_cast<const char*>(bytes_.data()) + from, to - from);
  }

  // Whether the message has data to be left out. Writes the rest unless `out` is null.
  bool message(std::size_t at, std::size_t end, Message type, int depth, std::string* out) const {
    if (depth > max_depth) fail(at, str_cat("messages are nested more than ", max_depth, " deep"));
    bool found = false;
    while (at < end) {
      const std::size_t start = at;
      const uint64_t tag = varint(at, end);
      const auto field = static_cast<uint32_t>(tag >> 3);
      if (tag >> 3 == 0 || tag >> 3 > 536870911)
        fail(start, "not a protobuf message: a field has no valid number");
      switch (tag & 7) {
        case 0: varint(at, end); break;
        case 1: at = advance(at, end, 8); break;
        case 5: at = advance(at, end, 4); break;
        case 2: {
          const uint64_t length = varint(at, end);
          if (length > end - at)
            fail(start, str_cat("field ", field, " claims ", length, " bytes, ", end - at, " are left"));
          const std::size_t stop = at + static_cast<std::size_t>(length);
          const Message inner = child(type, field);
          if (inner != Message::leaf) {
            std::string stripped;
            found |= message(at, stop, inner, depth + 1, out == nullptr ? nullptr : &stripped);
            if (out != nullptr) put_bytes(*out, field, stripped);
            at = stop;
            continue;
          }
          if (type == Message::tensor && field == 9 && length >= min_mapped_bytes) {
            found = true;
            if (out != nullptr) {
              std::string entry;
              put_bytes(entry, 1, mapped_key);
              put_bytes(entry, 2, str_cat(at, ",", length));
              put_bytes(*out, 13, entry);
            }
            at = stop;
            continue;
          }
          if (type == Message::tensor && field == 13 &&
              view(at, stop).find(mapped_key) != std::string_view::npos)
            fail(start, "an external_data entry has a key that is not allowed");
          at = stop;
          break;
        }
        default: fail(start, str_cat("not a protobuf message: wire type ", tag & 7));
      }
      if (out != nullptr) copy(start, at, *out);
    }
    return found;
  }
  static std::size_t advance(std::size_t at, std::size_t end, std::size_t n) {
    if (end - at < n) fail(at, "the message is cut short");
    return at + n;
  }
  std::string_view view(std::size_t from, std::size_t to) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + from, to - from};
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::optional<std::string> strip_raw_data(std::span<const std::byte> model) { return Stripper(model).run(); }

}  // namespace tenon::TENON_ABI::loader
