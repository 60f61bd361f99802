// write_decoders FOLDER: writes the models of decoders.hpp, of which record_decoders.js records texts.
#include <cstdio>

#include "tests/loader/decoders.hpp"

int main(int argc, char** argv) {
  using namespace tenon;
  if (argc != 2) return std::fprintf(stderr, "usage: write_decoders FOLDER\n"), 2;
  for (const test::DecoderKind& kind : test::decoder_kinds()) {
    std::string name = kind.name();
    name.replace(name.find('/'), 1, "-");
    save(decoder_model(kind), std::filesystem::path(argv[1]) / (name + ".onnx"));
  }
}
