#include "tenon/base/storage.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tenon/base/lasting.hpp"

namespace {
using tenon::Allocator;
using tenon::checked_mul;
using tenon::Error;
using tenon::ErrorCode;
using tenon::Storage;

template <class F>
ErrorCode error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::io;
}

bool aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % tenon::storage_alignment == 0; }

// Counts, and gives nothing beyond a limit.
class Counting final : public Allocator {
 public:
  void* allocate(size_t bytes, size_t alignment) override {
    CHECK(bytes > 0);
    if (bytes > limit) return nullptr;
    ++blocks;
    live += bytes;
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    --blocks;
    live -= bytes;
    ::operator delete(memory, std::align_val_t(alignment));
  }
  size_t limit = 1 << 20, live = 0;
  int blocks = 0;
};

// Counts its living instances.
struct Element {
  Element() noexcept { ++alive; }
  ~Element() { --alive; }
  static inline int alive = 0;
  char bytes[24] = {};
};
}  // namespace

TEST_CASE("allocated blocks are aligned, writable and of their size") {
  for (const size_t bytes : {0, 1, 63, 64, 65, 4096, 1000003, 1 << 21, 7654321}) {
    CAPTURE(bytes);
    Storage s = Storage::allocate(bytes);
    CHECK(static_cast<bool>(s));
    CHECK(aligned(s.data()));
    CHECK(s.size_bytes() == bytes);
    CHECK(s.writable());
    CHECK(s.unique());
    std::memset(s.as<void>(), 0x5a, bytes);
  }
}

TEST_CASE("handles share, move and count") {
  Counting allocator;
  {
    Storage a = Storage::make<float>(10, allocator);
    CHECK(a.size_bytes() == 40);
    CHECK(allocator.blocks == 1);
    a.as<float>()[9] = 3;
    Storage b = a;
    CHECK(a.use_count() == 2);
    CHECK_FALSE(a.unique());
    CHECK(b.data() == a.data());
    CHECK(b.as<float>()[9] == 3);
    Storage c = std::move(a);
    CHECK_FALSE(static_cast<bool>(a));
    CHECK(a.size_bytes() == 0);
    CHECK(a.use_count() == 0);
    CHECK(c.use_count() == 2);
    b = Storage();
    CHECK(c.unique());
    c = *&c;
    CHECK(c.unique());
    a = c;
    a = std::move(c);
    CHECK(a.unique());
    CHECK(allocator.blocks == 1);
    a = Storage::make<float>(1, allocator);
    CHECK(allocator.blocks == 1);
  }
  CHECK(allocator.blocks == 0);
  CHECK(allocator.live == 0);
}

TEST_CASE("an empty handle") {
  Storage s;
  CHECK_FALSE(static_cast<bool>(s));
  CHECK(s.data() == nullptr);
  CHECK(s.use_count() == 0);
  CHECK_FALSE(s.unique());
  CHECK_FALSE(s.writable());
  Storage copy = s;
  CHECK_FALSE(static_cast<bool>(copy.slice(0, 0)));
}

TEST_CASE("elements with constructors") {
  {
    Storage s = Storage::make<std::string>(100);
    CHECK(s.size_bytes() == 100 * sizeof(std::string));
    for (int i = 0; i < 100; ++i) {
      CHECK(s.as<std::string>()[i].empty());
      s.as<std::string>()[i] = std::string(40, 'x') + std::to_string(i);
    }
    Storage other = s;
    s = Storage();
    CHECK(other.as<std::string>()[99] == std::string(40, 'x') + "99");
    CHECK(static_cast<bool>(Storage::make<std::string>(0)));
  }
  {
    Storage s = Storage::make<Element>(7);
    CHECK(Element::alive == 7);
    Storage part = s.slice(sizeof(Element), sizeof(Element));
    s = Storage();
    CHECK(Element::alive == 7);
  }
  CHECK(Element::alive == 0);
}

TEST_CASE("kept memory lives as long as its handles") {
  auto owner = std::make_shared<std::vector<int>>(std::vector<int>{1, 2, 3});
  const std::weak_ptr<std::vector<int>> watch = owner;
  int* data = owner->data();
  Storage s = Storage::keep(data, 3 * sizeof(int), std::move(owner));
  CHECK(s.writable());
  CHECK(s.data() == data);
  Storage part = s.slice(4, 8);
  s = Storage();
  CHECK(part.as<int>()[1] == 3);
  CHECK_FALSE(watch.expired());
  part = Storage();
  CHECK(watch.expired());

  const int fixed[] = {4, 5};
  int released = 0;
  const auto release = [&released](const int*) { ++released; };
  {
    std::unique_ptr<const int, decltype(release)> owner_of_constant(fixed, release);
    Storage constant = Storage::keep(fixed, sizeof fixed, std::move(owner_of_constant));
    CHECK_FALSE(constant.writable());
    CHECK_FALSE(constant.slice(4, 4).writable());
    CHECK(constant.unique());
    CHECK(constant.as<const int>()[1] == 5);
  }
  CHECK(released == 1);
}

TEST_CASE("a vector is taken without copying") {
  std::vector<double> v(1000, 2.5);
  const double* data = v.data();
  Storage s = Storage::take(std::move(v));
  CHECK(s.data() == data);
  CHECK(s.size_bytes() == 8000);
  CHECK(s.writable());
  CHECK(s.unique());
  Storage empty = Storage::take(std::vector<float>());
  CHECK(static_cast<bool>(empty));
  CHECK(empty.size_bytes() == 0);
  Storage strings = Storage::take(std::vector<std::string>{std::string(50, 'a'), "b"});
  CHECK(strings.as<std::string>()[1] == "b");
}

TEST_CASE("a handle for reading writes nothing") {
  Storage own = Storage::make<float>(2), part = own.slice(4, 4);
  own.as<float>()[0] = 1;
  part.as<float>()[0] = 2;
  Storage reader = own.read_only(), copy = reader, piece = reader.slice(4, 4), given = own;
  given.forbid_writing();
  CHECK(own.use_count() == 6);
  for (Storage* s : {&reader, &copy, &piece, &given}) {
    CHECK_FALSE(s->writable());
    CHECK(s->as<const float>()[0] == (s == &piece ? 2 : 1));
    CHECK(error_of([&] { s->as<float>(); }) == ErrorCode::invalid_argument);
    CHECK(error_of([&] { s->as<void>(); }) == ErrorCode::invalid_argument);
  }
  CHECK(own.writable());  // the right is the handle's, not the block's
  own = reader;
  CHECK(error_of([&] { own.as<float>(); }) == ErrorCode::invalid_argument);
  const Storage moved = std::move(part);
  CHECK(moved.writable());
  CHECK(Storage().as<float>() == nullptr);
  static_assert(std::is_same_v<decltype(moved.data()), const void*>);
}

TEST_CASE("borrowed memory is never unique") {
  int values[] = {1, 2, 3};
  Storage s = Storage::borrow(values, sizeof values);
  CHECK(static_cast<bool>(s));
  CHECK(s.data() == values);
  CHECK(s.writable());
  CHECK_FALSE(s.unique());
  CHECK(s.use_count() == 0);
  const int constants[] = {1};
  CHECK_FALSE(Storage::borrow(constants, sizeof constants).writable());
  CHECK(static_cast<bool>(Storage::borrow(static_cast<void*>(nullptr), 0)));
}

TEST_CASE("slices stay inside") {
  constexpr size_t max = std::numeric_limits<size_t>::max();
  const Storage s = Storage::allocate(10);
  const struct {
    size_t offset, bytes;
    bool fits;
  } rows[] = {{0, 10, true}, {0, 0, true},   {10, 0, true},   {3, 7, true},    {11, 0, false},
              {3, 8, false}, {0, 11, false}, {max, 1, false}, {1, max, false}, {max, max, false}};
  for (const auto& row : rows) {
    CAPTURE(row.offset);
    CAPTURE(row.bytes);
    if (row.fits) {
      const Storage part = s.slice(row.offset, row.bytes);
      CHECK(part.as<const char>() == s.as<const char>() + row.offset);
      CHECK(part.size_bytes() == row.bytes);
      CHECK(s.use_count() == 2);
    } else {
      CHECK(error_of([&] { s.slice(row.offset, row.bytes); }) == ErrorCode::out_of_range);
    }
    CHECK(s.use_count() == 1);
  }
}

TEST_CASE("what cannot be allocated") {
  constexpr size_t max = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {max, max - 63, max / 2, max / 2 - 64}) {
    CHECK(error_of([&] { return Storage::allocate(bytes); }) == ErrorCode::out_of_memory);
  }
  Counting allocator;
  allocator.limit = 1000;
  CHECK(error_of([&] { return Storage::allocate(1000, allocator); }) == ErrorCode::out_of_memory);
  CHECK(error_of([&] { return Storage::make<Element>(1000, allocator); }) == ErrorCode::out_of_memory);
  CHECK(Element::alive == 0);
  CHECK(error_of([] { Storage::make<float>(-1); }) == ErrorCode::invalid_shape);
  CHECK(error_of([] { Storage::make<float>(int64_t{1} << 62); }) == ErrorCode::invalid_shape);
  CHECK(error_of([] { Storage::make<float>(int64_t{1} << 61); }) == ErrorCode::out_of_memory);
}

TEST_CASE("checked products") {
  constexpr int64_t big = std::numeric_limits<int64_t>::max();
  CHECK(checked_mul<int64_t>(big, 1, "here") == big);
  CHECK(checked_mul<int64_t>(0, big, "here") == 0);
  CHECK(checked_mul<size_t>(size_t{1} << 32, size_t{1} << 31, "here") == size_t{1} << 63);
  CHECK(error_of([] { checked_mul<int64_t>(big, 2, "here"); }) == ErrorCode::invalid_shape);
  constexpr size_t half = size_t{1} << 32;
  CHECK(error_of([] { checked_mul<size_t>(half, half, "here"); }) == ErrorCode::invalid_shape);
  try {
    checked_mul<int64_t>(big, 2, "Reshape");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "Reshape: 9223372036854775807 x 2 is too large");
  }
}

TEST_CASE("handles on many threads") {
  Storage s = Storage::make<std::string>(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([s, t]() mutable {
      s.as<std::string>()[t] = std::string(30, 'a');
      for (int i = 0; i < 2000; ++i) {
        Storage copy = s;
        Storage moved = std::move(copy);
        CHECK(moved.use_count() > 1);
      }
    });
  }
  Storage last = std::move(s);
  while (!last.unique()) std::this_thread::yield();
  for (int t = 0; t < 4; ++t) CHECK(last.as<std::string>()[t].size() == 30);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("blocks of the lasting allocator are aligned and apart") {
  std::vector<Storage> blocks;
  // Less than a page, neighbours of regions, more than shares one, and more than a region has left.
  for (const size_t bytes : {100, 1 << 16, 3 << 20, (1 << 16) + 1, 20 << 20, 15 << 20, 15 << 20, 1 << 20})
    blocks.push_back(Storage::allocate(bytes, tenon::lasting_allocator()));
  for (size_t k = 0; k < blocks.size(); ++k) {
    CHECK(aligned(blocks[k].data()));
    std::memset(blocks[k].as<void>(), static_cast<int>(k + 1), blocks[k].size_bytes());
  }
  blocks.erase(blocks.begin() + 2);  // its memory goes back, and its place is not used again
  blocks.push_back(Storage::allocate(2 << 20, tenon::lasting_allocator()));
  std::memset(blocks.back().as<void>(), 100, blocks.back().size_bytes());
  for (size_t k = 0; k + 1 < blocks.size(); ++k) {
    const auto* bytes = blocks[k].as<const unsigned char>();
    const size_t number = k < 2 ? k + 1 : k + 2;
    CHECK(std::all_of(bytes, bytes + blocks[k].size_bytes(), [&](unsigned char b) { return b == number; }));
  }
}

TEST_CASE("threads share the lasting allocator") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &wrong] {
      std::vector<Storage> blocks;
      for (int k = 0; k < 50; ++k) {
        blocks.push_back(Storage::allocate(70000, tenon::lasting_allocator()));
        std::memset(blocks.back().as<void>(), t + 1, 70000);
        if (k % 3 == 0) blocks.erase(blocks.begin());
      }
      for (const Storage& s : blocks)
        for (size_t k = 0; k < 70000; ++k) wrong += s.as<const char>()[k] != t + 1;
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}
