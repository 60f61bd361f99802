// The errors of calls, as text.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/error.hpp"

namespace tenon {

/// What an Error says that a call throws; "" when it throws none.
///
///     CHECK(refusal([&] { m.remove("x"); }).find("is read by") != std::string::npos);
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
/// The same of a call whose Error has to be of one kind.
template <class Call>
std::string refusal(ErrorCode code, Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.code() == code ? e.what() : std::string("an error of another kind: ") + e.what();
  }
  return "";
}

/// Whether a text has a part.
inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace tenon
