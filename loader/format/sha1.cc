#include "loader/format/sha1.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::TENON_ABI::loader {

void Sha1::add_block(const unsigned char* block) {
  uint32_t w[16];
  for (int k = 0; k < 16; ++k)
    w[k] = uint32_t{block[4 * k]} << 24 | uint32_t{block[4 * k + 1]} << 16 | uint32_t{block[4 * k + 2]} << 8 |
           block[4 * k + 3];
  auto [a, b, c, d, e] = state_;
  // The words are extended as they are used, in a ring. Five steps give each variable its own name back, so
  // that no step moves one.
  const auto rounds = [&](int from, uint32_t constant, auto mix) {
    const auto word = [&](int k) {
      const auto at = [&](int back) -> uint32_t& { return w[(k - back) & 15]; };
      if (k >= 16) at(16) = std::rotl(at(3) ^ at(8) ^ at(14) ^ at(16), 1);
      return at(16);
    };
    const auto step = [&](int k, uint32_t v, uint32_t& x, uint32_t y, uint32_t z, uint32_t& last) {
      last += std::rotl(v, 5) + mix(x, y, z) + constant + word(k);
      x = std::rotl(x, 30);
    };
    for (int k = from; k < from + 20; k += 5) {
      step(k, a, b, c, d, e);
      step(k + 1, e, a, b, c, d);
      step(k + 2, d, e, a, b, c);
      step(k + 3, c, d, e, a, b);
      step(k + 4, b, c, d, e, a);
    }
  };
  const auto parity = [](uint32_t x, uint32_t y, uint32_t z) { return x ^ y ^ z; };
  rounds(0, 0x5a827999, [](uint32_t x, uint32_t y, uint32_t z) { return (x & y) | (~x & z); });
  rounds(20, 0x6ed9eba1, parity);
  rounds(40, 0x8f1bbcdc, [](uint32_t x, uint32_t y, uint32_t z) { return (x & y) | (x & z) | (y & z); });
  rounds(60, 0xca62c1d6, parity);
  state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d, state_[4] + e};
}

void Sha1::add(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size(), held = size_ % 64;
  size_ += left;
  while (left > 0) {
    if (held == 0 && left >= 64) {
      add_block(data);
      data += 64, left -= 64;
      continue;
    }
    const std::size_t n = std::min(64 - held, left);
    std::memcpy(rest_.data() + held, data, n);
    data += n, left -= n, held += n;
    if (held == 64) add_block(rest_.data()), held = 0;
  }
}

std::string Sha1::hex() const {
  Sha1 end = *this;
  const uint64_t length = size_ * 8;
  std::array<std::byte, 72> padding{std::byte{0x80}};
  const std::size_t zeros = (119 - size_ % 64) % 64;  // up to eight bytes before a block's end
  for (int k = 0; k < 8; ++k)
    padding[1 + zeros + static_cast<std::size_t>(k)] = std::byte(length >> (56 - 8 * k));
  end.add({padding.data(), zeros + 9});
  std::string digits;
  for (const uint32_t word : end.state_)
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
  return digits;
}

}  // namespace tenon::TENON_ABI::loader
