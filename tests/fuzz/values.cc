// Files of values: TensorProto, SequenceProto, OptionalProto, MapProto, SparseTensorProto and .npy. A tensor
// that was read can be written, and is the same when it is read again.
#include <cstring>

#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

bool same(const AnyTensor& a, const AnyTensor& b) {
  if (a.dtype() != b.dtype() || !(a.extents() == b.extents())) return false;
  if (a.dtype() != DType::string)
    return a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
  const auto* texts = static_cast<const std::string*>(a.data());
  return std::equal(texts, texts + a.size(), static_cast<const std::string*>(b.data()));
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  using namespace tenon::fuzz;
  static const Folder folder;
  static const Type types[] = {DType::undefined,
                               {Kind::sequence, DType::float32},
                               {Kind::optional, DType::float32},
                               {Kind::optional_sequence, DType::int64},
                               {Kind::map, DType::float32, DType::string},
                               {Kind::sequence_map, DType::float32, DType::int64},
                               {Kind::sparse_tensor, DType::float32}};
  const Input input(data, size);
  const size_t kind = input.choice % (std::size(types) + 1);
  const bool npy = kind == std::size(types);
  const auto file = folder.write("value", input.text());
  Value value;
  if (!accepted([&] { value = npy ? read_npy(file) : read_pb(file, types[kind]); }) || !value.is_tensor())
    return 0;
  const auto copy = folder.write("copy", "");
  if (!accepted([&] { npy ? write_npy(copy, value) : write_pb(copy, value); })) return 0;
  require(same(value.tensor(), (npy ? read_npy(copy) : read_pb(copy)).tensor()),
          "a tensor is read as it was written");
  return 0;
}
