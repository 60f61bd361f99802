// libraries LIBRARY LIBRARY: what two libraries of tests/units/library.cc make of each other's objects.
// Prints the faults.
#include <dlfcn.h>

#include <cstdio>

#include "tests/units/library.hpp"

using tenon::units::Library;

int wrong = 0;

void expect(bool holds, const char* what) {
  if (!holds) ++wrong, std::printf("FAILED: %s\n", what);
}

int main(int, char** argv) {
  const Library* library[2];
  for (int k : {0, 1}) {
    void* const handle = dlopen(argv[k + 1], RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return std::printf("%s\n", dlerror()), 1;
    library[k] = static_cast<const Library*>(dlsym(handle, "library"));
  }
  expect(library[0] != library[1], "there are two libraries");
  for (int k : {0, 1}) {
    const Library &own = *library[k], &other = *library[1 - k];
    for (bool twice : {false, true}) {
      void* const op = own.make(twice);
      for (bool asked : {false, true}) {
        expect(own.is(op, asked) == (asked == twice), "an operator is what it was made as");
        expect(other.is(op, asked) == (asked == twice), "another library sees what an operator is");
      }
    }
    for (bool of_file : {false, true}) {
      expect(own.of_file(own.memory(of_file)) == of_file, "memory of a file is told from others");
      expect(other.of_file(own.memory(of_file)) == of_file, "another library sees memory of a file");
    }
    expect(own.catches(other.fail), "a library catches another's errors");
    try {
      own.fail();
    } catch (const tenon::Error& e) {
      expect(e.where() == "library", "the program catches a library's errors");
    }
    struct State {
      const Library* other;
      bool seen;
    } state{&other, false};
    own.with_executor(
        [](void* data) {
          auto& s = *static_cast<State*>(data);
          s.seen = s.other->has_executor();
        },
        &state);
    expect(state.seen, "an executor is in force in all libraries");
    expect(!other.has_executor(), "an executor is in force as long as it is asked for");
  }
  expect(library[0]->scratch() == library[1]->scratch(), "a thread has one scratch stack");
  return wrong > 0;
}
