// ONNX's own C++ library in a program that loads models: one unit sees both, and each reads a file by its own
// messages.
#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <fstream>

#include "tenon/loader.hpp"
#include "tenon/model.hpp"

using namespace tenon;

TEST_CASE("a model is read by Tenon and by libonnx") {
  const char* const file = "examples/digits/digits.onnx";
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Model ours = load_model(file);
    onnx::ModelProto theirs;
    std::ifstream in(file, std::ios::binary);
    REQUIRE(theirs.ParseFromIstream(&in));
    CHECK(theirs.ir_version() == ours.header().ir_version);
    CHECK(theirs.GetTypeName() == "onnx.ModelProto");
    CHECK(theirs.graph().node_size() > 0);

    // What they write is what Tenon reads.
    const std::string bytes = theirs.SerializeAsString();
    CHECK(print_text(parse_model(std::as_bytes(std::span(bytes)))) == print_text(ours));

    const Session session = load(file);
    CHECK(session.graph().outputs().size() == static_cast<std::size_t>(theirs.graph().output_size()));
  }
}
