#include "loader/draw/page.hpp"

#include <array>
#include <cstdint>

#include "tenon/base/error.hpp"
#include "tenon/base/platform/overflow.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// SHA-256 (FIPS 180-4), by which a page's policy names its script and style.
std::string sha256_base64(std::string_view text) {
  constexpr std::array<uint32_t, 64> round_constants = [] {
    // The fractional parts of the cube roots of the first 64 primes.
    std::array<uint32_t, 64> k{};
    int found = 0;
    for (uint64_t p = 2; found < 64; ++p) {
      bool prime = true;
      for (uint64_t d = 2; d * d <= p; ++d) prime = prime && p % d != 0;
      if (!prime) continue;
      // The greatest r with r³ <= p·2⁹⁶; the root of primes up to 311 then has 35 bits.
      uint64_t root = 0;
      for (int bit = 35; bit-- > 0;) {
        const uint64_t r = root | uint64_t{1} << bit;
        uint64_t low;
        const uint64_t square = tenon::detail::multiply_wide(r, r, &low);
        const uint64_t cube = square * r + tenon::detail::multiply_wide(low, r, &low);
        if (cube < p << 32 || (cube == p << 32 && low == 0)) root = r;
      }
      k[static_cast<std::size_t>(found++)] = static_cast<uint32_t>(root);
    }
    return k;
  }();
  std::array<uint32_t, 8> h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string padded(text);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  for (int k = 8; k-- > 0;) padded += static_cast<char>(static_cast<uint64_t>(text.size()) * 8 >> (8 * k));
  const auto turn = [](uint32_t x, int n) { return x >> n | x << (32 - n); };
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    std::array<uint32_t, 64> w{};
    for (std::size_t k = 0; k < 64; ++k)
      w[k / 4] = w[k / 4] << 8 | static_cast<unsigned char>(padded[at + k]);
    for (std::size_t k = 16; k < 64; ++k)
      w[k] = w[k - 16] + (turn(w[k - 15], 7) ^ turn(w[k - 15], 18) ^ w[k - 15] >> 3) + w[k - 7] +
             (turn(w[k - 2], 17) ^ turn(w[k - 2], 19) ^ w[k - 2] >> 10);
    std::array<uint32_t, 8> s = h;
    for (std::size_t k = 0; k < 64; ++k) {
      const uint32_t a = s[0], e = s[4];
      const uint32_t t1 = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                          round_constants[k] + w[k];
      const uint32_t t2 =
          (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
      s = {t1 + t2, a, s[1], s[2], s[3] + t1, e, s[5], s[6]};
    }
    for (std::size_t k = 0; k < 8; ++k) h[k] += s[k];
  }
  std::string digits;
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int bit = 0; bit < 256; bit += 6) {
    uint32_t six = 0;
    for (int k = bit; k < bit + 6; ++k)
      six = six << 1 | (k < 256 ? h[static_cast<std::size_t>(k / 32)] >> (31 - k % 32) & 1 : 0);
    digits += letters[six];
  }
  return digits + "=";  // 43 digits
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string page_head(std::string_view title, std::string_view style, std::string_view script) {
  return str_cat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-",
      sha256_base64(script), "'; style-src 'sha256-", sha256_base64(style),
      "'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      escaped(title), "</title>\n<style>", style, "</style>\n</head>\n<body>\n");
}

}  // namespace tenon::TENON_ABI::loader
