// Rows that grow step by step, in pages that never move: the keys or the values of attention.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "tenon/base/types.hpp"
#include "tenon/tensor/row_codes.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {

/// Where the rows of a tensor (batch, heads, steps, size) lie. Distances are in elements.
struct RowPlaces {
  int64_t batch = 0, head = 0, step = 0;
};

/// Numbers of (batch, heads, steps, size), to which steps are appended. A page holds the same number of steps
/// of all entries and heads, densely, so that growth moves nothing. Copies share pages, and a shared page is
/// copied before it is written to. An object belongs to one thread at a time; objects that share pages may
/// belong to several.
///
/// Pages hold numbers of the type that is written or, if `stored` is int8, codes with a scale for each vector
/// (encode_row), which follow the codes.
class PagedRows {
 public:
  /// Error{invalid_argument} if a page holds no steps, or `stored` is another type.
  explicit PagedRows(int64_t page_steps = 256, Allocator& allocator = default_allocator(),
                     DType stored = DType::undefined)
      : page_steps_(page_steps), allocator_(&allocator), coded_(stored == DType::int8) {
    if (page_steps < 1) raise(ErrorCode::invalid_argument, "cache", "a page holds ", page_steps, " steps");
    if (!coded_ && stored != DType::undefined)
      raise(ErrorCode::invalid_argument, "cache", "pages hold the type that is written, or int8, not ",
            name_of(stored));
  }

  DType dtype() const { return dtype_; }
  /// The type of the pages' elements.
  DType stored() const { return coded_ ? DType::int8 : dtype_; }
  int64_t batch() const { return batch_; }
  int64_t heads() const { return heads_; }
  int64_t size() const { return size_; }
  /// Steps are numbered from 0 on; those before begin() have been released.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  int64_t page_steps() const { return page_steps_; }
  /// Of one page, between its rows.
  RowPlaces places() const { return {heads_ * page_steps_ * size_, page_steps_ * size_, size_}; }
  /// The scales of a page's codes, (batch, heads, page_steps); nullptr if it holds no codes.
  const float* scales(const void* page) const {
    return coded_ ? reinterpret_cast<const float*>(static_cast<const std::byte*>(page) + element_bytes())
                  : nullptr;
  }
  /// The bytes of all pages, shared ones included.
  int64_t bytes() const { return static_cast<int64_t>(pages_.size()) * page_bytes(); }

  /// Makes the rows ones of this type and these extents. Error{invalid_type, invalid_shape} if there are
  /// steps of others.
  void expect(DType dtype, int64_t batch, int64_t heads, int64_t size) {
    const bool same = dtype == dtype_ && batch == batch_ && heads == heads_ && size == size_;
    if (!same && begin_ == end_) pages_.clear();  // which a failed run has left
    if (!pages_.empty() && dtype != dtype_)
      raise(ErrorCode::invalid_type, "cache", "it holds ", name_of(dtype_), ", not ", name_of(dtype));
    if (!pages_.empty() && (batch != batch_ || heads != heads_ || size != size_))
      raise(ErrorCode::invalid_shape, "cache", "it holds steps of (", batch_, ",", heads_, ",", size_,
            "), not (", batch, ",", heads, ",", size, ")");
    if (bits_of(dtype) % 8 != 0 || bits_of(dtype) == 0)
      raise(ErrorCode::invalid_type, "cache", "it cannot hold ", name_of(dtype));
    if (coded_ && !CodedTypes::has(dtype))
      raise(ErrorCode::invalid_type, "cache", "it cannot hold codes of ", name_of(dtype));
    const int64_t rows = checked_mul(checked_mul(batch, heads, "cache"), page_steps_, "cache");
    checked_mul(checked_mul(rows, size, "cache"), int64_t{bits_of(dtype) / 8}, "cache");
    checked_mul(rows, int64_t{16}, "cache");  // codes and their scales, of half of each
    dtype_ = dtype, batch_ = batch, heads_ = heads, size_ = size;
  }

  /// Allocates the pages for the steps before `end`. `expect` comes first.
  void reserve(int64_t end) {
    while (begin_ + held_steps() < end)
      pages_.push_back(Storage::allocate(static_cast<std::size_t>(page_bytes()), *allocator_));
  }

  /// Writes the steps from `at` on, which is at most end() and not released; they replace the ones that are
  /// there. `data` is (batch, heads, steps, size), as `from` says. `expect` comes first.
  void write(int64_t at, int64_t steps, const void* data, const RowPlaces& from) {
    if (at < begin_ || at > end_)
      raise(ErrorCode::out_of_range, "cache", "step ", at, " is not among steps ", begin_, " to ", end_);
    reserve(at + steps);
    const int64_t item = bits_of(dtype_) / 8;
    for (int64_t s = at; s < at + steps;) {
      const int64_t page = s / page_steps_, in_page = s % page_steps_;
      const int64_t count = std::min(page_steps_ - in_page, at + steps - s);
      auto* const target = own(page, in_page).as<std::byte>();
      for (int64_t b = 0; b < batch_; ++b)
        for (int64_t h = 0; h < heads_; ++h) {
          const auto* x = static_cast<const std::byte*>(data) +
                          (b * from.batch + h * from.head + (s - at) * from.step) * item;
          const int64_t row = (b * heads_ + h) * page_steps_ + in_page;
          if (coded_) encode(x, from.step * item, count, target, row);
          else copy(x, from.step * item, count, target + row * size_ * item);
        }
      s += count;
    }
    end_ = at + steps;
  }

  /// Forgets the steps from `end` on. Pages stay for the steps to come, unless they are shared.
  void truncate(int64_t end) {
    end_ = std::clamp(end, begin_, end_);
    while (!pages_.empty() && begin_ + held_steps() - page_steps_ >= end_ && !pages_.back().unique())
      pages_.pop_back();
  }
  /// Frees the pages all of whose steps are before `begin`.
  void release(int64_t begin) {
    begin = std::min(begin, end_) / page_steps_ * page_steps_;
    if (begin <= begin_) return;
    pages_.erase(pages_.begin(),
                 pages_.begin() + static_cast<std::ptrdiff_t>((begin - begin_) / page_steps_));
    begin_ = begin;
  }

  /// Calls f(data, first step, number of steps) for each page that holds steps, in order; `data` is the row
  /// of the first entry's first head, and places() says where the others are.
  template <class F>
  void for_each_page(F f) const {
    for (int64_t s = begin_; s < end_; s += page_steps_)
      f(page(s / page_steps_).data(), s, std::min(page_steps_, end_ - s));
  }

 private:
  int64_t page_rows() const { return batch_ * heads_ * page_steps_; }
  int64_t element_bytes() const {
    const int64_t bytes = page_rows() * size_ * (bits_of(stored()) / 8);
    return coded_ ? (bytes + 63) / 64 * 64 : bytes;
  }
  int64_t page_bytes() const {
    return element_bytes() + (coded_ ? page_rows() * static_cast<int64_t>(sizeof(float)) : 0);
  }
  // `count` vectors, whose distance is `step` bytes, to a page.
  void copy(const std::byte* x, int64_t step, int64_t count, std::byte* y) const {
    const int64_t bytes = size_ * (bits_of(dtype_) / 8);
    if (step == bytes) {
      std::memcpy(y, x, static_cast<std::size_t>(count * bytes));
    } else {
      for (int64_t k = 0; k < count; ++k)
        std::memcpy(y + k * bytes, x + k * step, static_cast<std::size_t>(bytes));
    }
  }
  // The same as codes, from a row of the page on.
  void encode(const std::byte* x, int64_t step, int64_t count, std::byte* page, int64_t row) const {
    auto* const codes = reinterpret_cast<int8_t*>(page);
    auto* const factors = reinterpret_cast<float*>(page + element_bytes());
    visit_types(CodedTypes{}, dtype_, [&]<class T>() {
      for (int64_t k = 0; k < count; ++k)
        factors[row + k] =
            encode_row(reinterpret_cast<const T*>(x + k * step), size_, codes + (row + k) * size_);
    });
  }
  int64_t begin_page() const { return begin_ / page_steps_; }
  int64_t held_steps() const { return static_cast<int64_t>(pages_.size()) * page_steps_; }
  const Storage& page(int64_t number) const {
    return pages_[static_cast<std::size_t>(number - begin_page())];
  }
  /// The page, for writing from its step `used` on: a copy of the steps before if others hold it too.
  Storage& own(int64_t number, int64_t used) {
    Storage& storage = pages_[static_cast<std::size_t>(number - begin_page())];
    if (storage.unique()) return storage;
    Storage copy = Storage::allocate(static_cast<std::size_t>(page_bytes()), *allocator_);
    const auto copy_heads = [&](int64_t at, int64_t row) {  // `row`: the bytes of one
      for (int64_t r = 0; used > 0 && r < batch_ * heads_; ++r) {
        const int64_t head = at + r * page_steps_ * row;
        std::memcpy(copy.as<std::byte>() + head, static_cast<const std::byte*>(storage.data()) + head,
                    static_cast<std::size_t>(used * row));
      }
    };
    copy_heads(0, size_ * (bits_of(stored()) / 8));
    if (coded_) copy_heads(element_bytes(), sizeof(float));
    return storage = std::move(copy);
  }

  int64_t page_steps_;
  Allocator* allocator_;
  bool coded_;
  DType dtype_ = DType::undefined;
  int64_t batch_ = 0, heads_ = 0, size_ = 0;
  int64_t begin_ = 0, end_ = 0;  // begin_ is a page's first step
  std::vector<Storage> pages_;
};

/// Rows to which runs add steps.
struct StepCache {
  PagedRows rows;
  int64_t past = 0;  ///< the steps of complete runs; a run writes from here on

  /// Starts with the steps of a tensor (batch, heads, steps, size).
  void start(AnyView t) {
    const std::span<const int64_t> e = t.extents();
    if (e.size() != 4)
      raise(ErrorCode::invalid_shape, "cache", "it starts from a tensor of rank 4, not ", e.size());
    if (t.empty()) return;
    rows.expect(t.dtype(), e[0], e[1], e[3]);
    rows.write(0, e[2], t.data(), {e[1] * e[2] * e[3], e[2] * e[3], e[3]});
    past = rows.end();
  }
};

}  // namespace tenon::TENON_ABI
