// levels: lists the levels of simd/arch.hpp, one a line: name, tag, all flags by which a compiler may use it.
// levels present: the names of those that the processor has.
// levels LEVEL PROGRAM…: says "level: LEVEL" and runs the test PROGRAM, with arguments, at it, or says
// "skipped: ..." where the processor has it not; tally.sh looks for these lines.
#include <unistd.h>

#include <cstdio>

#include "tenon/simd/arch.hpp"

using namespace tenon;

int main(int argc, char** argv) {
  std::string flags;
  for (const simd::LevelInfo& l : simd::levels) {
    const std::string features(l.features);
    for (const char c : features) flags += c == ' ' ? " -m" : std::string(1, c);
    if (argc == 2) {
      if (l.level <= simd::processor_level()) std::printf("%s ", std::string(l.name).c_str());
    } else if (argc < 3) {
      std::printf("%s\n", str_cat(l.name, " ", l.tag, flags).c_str());
    } else if (l.name == argv[1]) {
      if (l.level > simd::processor_level()) {
        std::printf("skipped: level %s:%s wanted, the processor has %s\n", argv[1], features.c_str(),
                    names(simd::present_levels()).c_str());
        return 0;
      }
      std::printf("level: %s\n", argv[1]);
      std::fflush(stdout);
      setenv("TENON_ARCH", argv[1], 1);
      execvp(argv[2], argv + 2);
      std::perror(argv[2]);
      return 1;
    }
  }
  return argc >= 3;  // no level has this name
}
