// A library as programs have several of: its symbols are hidden, but for one.
#include "tests/units/library.hpp"

#include "tenon/base/scratch.hpp"
#include "tenon/base/thread_pool.hpp"
#include "tenon/op/framework/registry.hpp"

namespace tenon::units {

template <int factor>
struct Times {
  static constexpr op::Spec spec{.name = factor == 2 ? "Twice" : "Thrice",
                                 .domain = "units",
                                 .since = {1},
                                 .inputs = {{"x", "T"}},
                                 .outputs = {{"y", "T"}},
                                 .types = {{"T", types::float32}}};

  constexpr void infer(op::Infer& i) const { i.out(0, i.dims(0)); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    for (int64_t i = 0; i < x.size(); ++i) y[i] = factor * x[i];
  }
};

namespace {

void* make(bool twice) {
  return new AnyOperator(twice ? AnyOperator::make(Times<2>{}) : AnyOperator::make(Times<3>{}));
}
bool is(const void* op, bool twice) {
  const AnyOperator& any = *static_cast<const AnyOperator*>(op);
  return twice ? any.as<Times<2>>() != nullptr : any.as<Times<3>>() != nullptr;
}

Storage memory(bool of_file) {
  static const float numbers[4] = {};
  const void* data = numbers;
  if (of_file) return Storage::keep(data, sizeof numbers, FilePart(nullptr, data, sizeof numbers));
  return Storage::keep(data, sizeof numbers, std::shared_ptr<const void>());
}
bool of_file(const Storage& s) { return s.file_part() != nullptr; }

void fail() { throw Error(ErrorCode::cancelled, "library", "fails"); }
bool catches(void (*fails)()) {
  try {
    fails();
  } catch (const Error& e) {
    return e.code() == ErrorCode::cancelled;
  } catch (...) {
  }
  return false;
}

void with_executor(void (*f)(void*), void* data) {
  ThreadPool pool(2);
  const ScopedPool use(pool);
  f(data);
}
bool has_executor() { return threads_at_hand() == 2; }
const void* scratch() { return &detail::scratch_stack(); }

}  // namespace

extern "C" [[gnu::visibility("default")]] const Library library;
const Library library{make, is, memory, of_file, fail, catches, with_executor, has_executor, scratch};

}  // namespace tenon::units
