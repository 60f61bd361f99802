// SHA-1: the digest by which external data may identify its file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// The SHA-1 digest of bytes that arrive in parts (FIPS 180-4). It detects damage, but does not protect
/// against forgery.
///
///     Sha1 digest;
///     digest.add(bytes);
///     digest.hex();  // "a9993e364706816aba3e25717850c26c9cd0d89d" for "abc"
class Sha1 {
 public:
  void add(std::span<const std::byte> bytes);
  /// Forty digits, for all bytes so far.
  std::string hex() const;

 private:
  void add_block(const unsigned char* block);

  std::array<uint32_t, 5> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<unsigned char, 64> rest_{};  // of the bytes, less than a block
  uint64_t size_ = 0;
};

}  // namespace tenon::TENON_ABI::loader
