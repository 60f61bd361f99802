// Suites: folders of recorded calls of ONNX's own functions, one per line of index.jsonl.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"
#include "tenon/base/platform/path.hpp"

namespace tenon::TENON_ABI::tool {

/// A JSON value. A member that is absent or of another kind reads as empty: "", 0, false, no members.
class Json {
 public:
  /// Error{invalid_argument} for text that is not a single JSON value.
  static Json parse(std::string_view text);

  enum class Kind : uint8_t { null, boolean, number, string, list, object };
  Kind kind() const { return kind_; }
  bool boolean() const { return boolean_; }
  double number() const { return number_; }
  int64_t integer() const { return integer_; }  ///< for whole numbers
  const std::string& string() const { return string_; }
  const std::vector<Json>& list() const { return list_; }
  const std::map<std::string, Json, std::less<>>& object() const { return object_; }

  bool contains(std::string_view key) const { return object_.contains(key); }
  const Json& operator[](std::string_view key) const;

 private:
  friend class JsonReader;
  Kind kind_ = Kind::null;
  bool boolean_ = false;
  int64_t integer_ = 0;
  double number_ = 0;
  std::string string_;
  std::vector<Json> list_;
  std::map<std::string, Json, std::less<>> object_;
};

/// Calls `differs` with each line of folder/index.jsonl. It returns "" if the call gives the recorded result,
/// else the difference; exceptions count as one. Prints "FAIL <in>: reason" for each that differs, and
/// finally "N passed, N failed". Returns the exit code.
int run_suite(const std::filesystem::path& folder, const std::function<std::string(const Json&)>& differs);

/// The file that a member of a call names.
inline std::filesystem::path file_of(const std::filesystem::path& folder, const Json& member) {
  return folder / detail::path_named(member.string());
}

/// A message from a file. Error{io} if it cannot be read, or is not such a message.
void read_message(const std::filesystem::path& file, google::protobuf::MessageLite& message);
template <class Message>
Message read_message(const std::filesystem::path& file) {
  Message message;
  read_message(file, message);
  return message;
}

}  // namespace tenon::TENON_ABI::tool
