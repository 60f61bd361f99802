// Where a model's annotations place its nodes and tensors, and how tensors lie on ranks.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/devices/transport.hpp"
#include "tenon/tensor/part_rows.hpp"

namespace tenon::TENON_ABI::devices {

/// How ONNX's annotations state that a tensor lies on devices. Pieces are numbered in the order of the axes
/// that are cut, the last one fastest.
struct Sharding {
  struct Cut {
    int64_t axis = 0;    ///< negative: counted from the end
    int64_t shards = 1;  ///< pieces
    int64_t blocks = 0;  ///< of equal size, which stay together; 0: each element may begin a piece
    /// Equal parts of the axis, each of which is cut alike: a piece is made of one range in every stretch.
    /// `blocks` counts the blocks of one stretch.
    int64_t stretches = 1;

    /// The first elements of the pieces in a stretch of an axis of this extent, and the stretch's extent.
    /// None if the axis does not consist of stretches of blocks, or has fewer blocks than pieces.
    std::vector<int64_t> bounds(int64_t extent) const {
      if (stretches < 1 || extent % stretches != 0) return {};
      const int64_t stretch = extent / stretches, count = blocks > 0 ? blocks : stretch;
      if (shards < 1 || shards > count || stretch % count != 0) return {};
      std::vector<int64_t> list;
      for (int64_t k = 0; k <= shards; ++k)
        list.push_back((k * (count / shards) + k * (count % shards) / shards) * (stretch / count));
      return list;
    }
  };
  std::vector<Cut> cuts{};
  std::vector<Ranks> holders{};  ///< of each piece
};

/// The annotation of a node for one configuration.
struct NodePlacement {
  std::optional<int64_t> stage{};                          ///< of the pipeline
  std::map<std::string, Sharding, std::less<>> tensors{};  ///< operands and results by name
};

/// The annotations of a graph for one configuration.
struct Placement {
  int devices = 1;
  std::map<std::string, NodePlacement, std::less<>> nodes{};  ///< by the name of a node's first named result
};

/// How a tensor lies on ranks: whole, or cut along one axis.
struct Pieces {
  int axis = -1;                   ///< -1: whole
  std::vector<int64_t> cuts{};     ///< piece k has the elements from cuts[k] to before cuts[k + 1]
  std::vector<Ranks> holders{{}};  ///< of each piece, in ascending order
  int64_t stretches = 1;           ///< of equal length, of each of which piece k has these elements

  bool operator==(const Pieces&) const = default;
  bool whole() const { return axis < 0; }
  AxisPart part(std::size_t piece) const { return {axis, cuts[piece], cuts[piece + 1], stretches}; }
  int64_t extent(std::size_t piece) const { return part(piece).extent(); }
  std::vector<int64_t> extents() const {
    std::vector<int64_t> list;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) list.push_back(extent(k));
    return list;
  }
  /// All ranks that have a piece, in ascending order.
  Ranks ranks() const {
    Ranks all;
    for (const Ranks& of : holders) all.insert(all.end(), of.begin(), of.end());
    std::sort(all.begin(), all.end());
    return all;
  }
  /// The piece of a rank, -1 if it has none.
  int piece_of(int64_t rank) const {
    for (std::size_t k = 0; k < holders.size(); ++k)
      if (std::binary_search(holders[k].begin(), holders[k].end(), rank)) return static_cast<int>(k);
    return -1;
  }
  /// Ranks that together have each piece once, one list for each copy. None if the pieces have different
  /// numbers of copies.
  std::vector<Ranks> rings() const {
    std::vector<Ranks> list(holders[0].size());
    for (const Ranks& of : holders) {
      if (of.size() != list.size()) return {};
      for (std::size_t j = 0; j < of.size(); ++j) list[j].push_back(of[j]);
    }
    return list;
  }

  static Pieces whole_on(Ranks ranks) {
    std::sort(ranks.begin(), ranks.end());
    return {.holders = {std::move(ranks)}};
  }
};

}  // namespace tenon::TENON_ABI::devices
