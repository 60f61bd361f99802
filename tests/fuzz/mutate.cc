// How libFuzzer changes the messages that targets read: half of the time as it changes any bytes, else field
// by field, which leaves them messages. The first byte of an input is not part of the message.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/support.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace tenon::fuzz {
namespace {

/// A message without its schema: fields by number. Bytes that could be a message are taken for one, unless
/// they look like text.
struct Field {
  uint64_t number = 0;
  int wire = 0;         ///< 0, 1, 2 or 5, as protobuf has them
  uint64_t scalar = 0;  ///< of wires 0, 1 and 5
  std::string bytes;    ///< of wire 2, where it is no message
  bool message = false;
  std::vector<Field> fields;
};

bool read_varint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto b = static_cast<uint8_t>(in.front());
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(b & 127) << shift;
    if (b < 128) return true;
  }
  return false;
}

bool looks_like_text(std::string_view bytes) {
  return bytes.size() < 100 &&
         std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool read(std::string_view in, std::vector<Field>& fields, int depth) {
  while (!in.empty()) {
    uint64_t tag = 0;
    if (!read_varint(in, tag) || tag >> 3 == 0 || tag >> 3 > 100) return false;
    Field f;
    f.number = tag >> 3;
    f.wire = static_cast<int>(tag & 7);
    const size_t fixed = f.wire == 1 ? 8 : 4;
    uint64_t length = 0;
    switch (f.wire) {
      case 0:
        if (!read_varint(in, f.scalar)) return false;
        break;
      case 1:
      case 5:
        if (in.size() < fixed) return false;
        std::memcpy(&f.scalar, in.data(), fixed);
        in.remove_prefix(fixed);
        break;
      case 2:
        if (!read_varint(in, length) || length > in.size()) return false;
        f.bytes = in.substr(0, length);
        in.remove_prefix(length);
        f.message =
            !f.bytes.empty() && depth > 0 && !looks_like_text(f.bytes) && read(f.bytes, f.fields, depth - 1);
        if (!f.message) f.fields.clear();
        break;
      default: return false;
    }
    fields.push_back(std::move(f));
  }
  return true;
}

void write_varint(std::string& out, uint64_t value) {
  for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
  out += static_cast<char>(value);
}

std::string written(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& f : fields) {
    write_varint(out, f.number << 3 | static_cast<uint64_t>(f.wire));
    if (f.wire == 0) {
      write_varint(out, f.scalar);
    } else if (f.wire != 2) {
      out.append(reinterpret_cast<const char*>(&f.scalar), f.wire == 1 ? 8 : 4);
    } else {
      const std::string inner = f.message ? written(f.fields) : f.bytes;
      write_varint(out, inner.size());
      out += inner;
    }
  }
  return out;
}

class Mutator {
 public:
  Mutator(std::vector<Field>& top, unsigned seed) : top_(top), random_(seed) {}

  void run() {
    for (uint64_t n = 1 + below(4); n > 0; --n) {
      lists_.clear();
      collect(top_);
      change();
    }
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  template <class T>
  T& any(std::vector<T>& list) {
    return list[below(list.size())];
  }

  /// All lists of fields that are not empty; the outermost too.
  void collect(std::vector<Field>& fields) {
    if (fields.empty()) return;
    lists_.push_back(&fields);
    for (Field& f : fields) collect(f.fields);
  }

  void change() {
    if (lists_.empty()) return;
    std::vector<Field>& list = *any(lists_);
    const size_t k = below(list.size());
    switch (below(8)) {
      case 0: list.erase(list.begin() + static_cast<std::ptrdiff_t>(k)); break;
      case 1: {
        const Field copy = list[k];
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)), copy);
        break;
      }
      case 2: {  // a field from elsewhere, messages within themselves among them
        const Field copy = any(*any(lists_));
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)), copy);
        break;
      }
      case 3: std::swap(list[k], any(list)); break;
      case 4: {  // the contents of another field of the number
        Field& f = list[k];
        for (int tries = 0; tries < 20; ++tries)
          if (const Field& other = any(*any(lists_)); other.wire == f.wire && other.message == f.message) {
            const Field copy = other;
            const uint64_t number = f.number;
            f = copy;
            f.number = number;
            break;
          }
        break;
      }
      default: change_contents(list[k]);
    }
  }

  void change_contents(Field& f) {
    static constexpr uint64_t numbers[] = {0,
                                           1,
                                           2,
                                           3,
                                           4,
                                           5,
                                           6,
                                           7,
                                           8,
                                           10,
                                           11,
                                           13,
                                           15,
                                           16,
                                           17,
                                           18,
                                           21,
                                           22,
                                           64,
                                           255,
                                           65536,
                                           INT32_MAX,
                                           uint64_t{1} << 31,
                                           uint64_t{1} << 32,
                                           uint64_t{1} << 40,
                                           INT64_MAX,
                                           uint64_t{1} << 62,
                                           uint64_t{1} << 63,
                                           ~uint64_t{0},
                                           ~uint64_t{1}};
    if (f.wire != 2) {
      f.scalar = below(4) == 0 ? f.scalar + below(3) - 1 : numbers[below(std::size(numbers))];
    } else if (f.message) {
      if (f.fields.empty()) f.message = false;
      else if (below(20) == 0) f.fields.clear();
    } else if (below(3) == 0 && looks_like_text(f.bytes)) {
      static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const auto& [key, versions] : registry().operators()) all.push_back(key.second);
        return all;
      }();
      f.bytes = names[below(names.size())];
    } else {
      std::string bytes(f.bytes.size() + 16, '\0');
      std::copy(f.bytes.begin(), f.bytes.end(), bytes.begin());
      bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), f.bytes.size(), bytes.size()));
      f.bytes = bytes;
    }
  }

  std::vector<Field>& top_;
  std::vector<std::vector<Field>*> lists_;
  std::minstd_rand random_;
};

}  // namespace
}  // namespace tenon::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace tenon::fuzz;
  std::vector<Field> fields;
  if (size < 2 || seed % 2 == 0 || !read({reinterpret_cast<const char*>(data) + 1, size - 1}, fields, 40))
    return LLVMFuzzerMutate(data, size, max_size);
  Mutator(fields, seed).run();
  if (seed % 16 == 1) data[0] = static_cast<uint8_t>(seed >> 8);
  const std::string bytes = written(fields);
  if (bytes.size() >= max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data + 1, bytes.data(), bytes.size());
  return bytes.size() + 1;
}
