// What a library of tests/units/library.cc gives to the program.
#pragma once

#include "tenon/base/storage.hpp"

namespace tenon::units {

struct Library {
  /// An AnyOperator of an operator struct or another one.
  void* (*make)(bool twice);
  bool (*is)(const void* op, bool twice);
  /// Memory that a FilePart keeps, or something else.
  Storage (*memory)(bool of_file);
  bool (*of_file)(const Storage& memory);
  /// Throws an Error; tells whether what a function throws is one.
  void (*fail)();
  bool (*catches)(void (*fails)());
  /// Calls f with an executor in force; tells whether there is one.
  void (*with_executor)(void (*f)(void* data), void* data);
  bool (*has_executor)();
  /// The calling thread's scratch stack.
  const void* (*scratch)();
};

}  // namespace tenon::units
