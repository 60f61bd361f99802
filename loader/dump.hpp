// Models as drawings: for graphviz, and as a page.
#pragma once

#include <string>

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// The model in graphviz's language: a cluster for each body and function, a box for each node with its
/// constants and attributes, and edges with the types that the model states for their values. Call
/// infer_shapes before for the types of all values. `dot -Tsvg` draws it.
///
///     infer_shapes(model);
///     write_file("model.dot", dot(model));
std::string dot(const onnx::ModelProto& model);

/// The model as one page of HTML that needs nothing else: a drawing with nodes folded by the scopes in their
/// names
/// ("/layer1/conv/Conv"), bodies and functions to open, search, and tables that can be read without scripts.
/// Whatever names hold is shown as text and never acts; the page's policy allows no script but its own, and
/// no request.
std::string html(const onnx::ModelProto& model);

}  // namespace tenon::loader
