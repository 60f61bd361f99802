// The lexical elements of C++ that amalgamating rewrites: tokens, comments, preprocessor lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::amalgamation {

char lower_case(char c);
bool is_letter(char c);
bool is_word(char c);
bool is_blank(char c);

enum class Part { word, number, literal, comment, other };
struct Token {
  Part part;
  std::size_t end;
};
/// The token at a position: a word, a number, a literal, a comment without its line end, or one character.
Token token_at(std::string_view text, std::size_t at);

std::size_t skip_blanks(std::string_view text, std::size_t at);
/// Whether `what` is at a position.
bool has(std::string_view text, std::size_t at, std::string_view what);
std::string_view trimmed(std::string_view text);
/// The word that a text begins with, or "".
std::string_view word_of(std::string_view text);
/// The position of the bracket that closes one opened before `at`.
std::size_t closing_bracket(std::string_view text, std::size_t at);

/// A preprocessor line; of other lines both parts are empty.
struct Directive {
  std::string_view name, rest;
};
Directive directive_of(std::string_view line);

/// The path that a quoted #include in a file names, with "." and ".." resolved.
std::string path_from(std::string_view file, std::string_view path);

/// The text without comments and empty lines. Comments that document declarations stay if requested.
std::string without_comments(std::string_view text, bool keep_documentation);

}  // namespace tenon::TENON_ABI::amalgamation
