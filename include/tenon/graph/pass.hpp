// Pass: a rewrite of a program, and its report.
#pragma once

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI {

class CapturingBody;
class Program;
struct GraphNode;

/// A graph attribute whose nodes replace the node that has it.
struct ReplacingBody {
  const CapturingBody* body = nullptr;
  std::string_view attribute{};
};

/// A rewrite of a program that keeps its results and saves work. A pass sees the program after constant
/// folding. The bodies of If, Loop, Scan and SequenceMap are programs of their own, and are rewritten before
/// the enclosing program.
struct Pass {
  std::string_view name;
  void (*apply)(Program& program);
  /// Whether the pass needs to see a node although its operands are constants. Such nodes and their readers
  /// are computed after the pass. Bodies that capture their results have copies of them. Null: none.
  bool (*keeps)(const Program& program, const GraphNode& node) = nullptr;
  /// The body whose results are the node's in every run, if it takes no inputs. Its nodes replace the node
  /// when the program is made, before bodies are compiled, so that all passes see them. Null: none.
  ReplacingBody (*replacing)(const Program& program, const GraphNode& node) = nullptr;
  /// The operand by whose value `replacing` chooses the body, or -1. Null: none.
  int32_t (*chosen_by)(const GraphNode& node) = nullptr;
};

/// A pass's report on one node: the rewrite, or the reason for leaving the node alone.
struct PassReport {
  std::string node;  ///< "node 'conv1' (Conv-11)", preceded by the nodes whose bodies contain it
  std::string_view pass;
  bool applied = false;
  std::string text;
};

/// "node 'conv1' (Conv-11) -> fuse_convolution: fused with Relu 'relu1'"
inline std::string to_string(const PassReport& r) { return str_cat(r.node, " -> ", r.pass, ": ", r.text); }

}  // namespace tenon::TENON_ABI
