#include "loader/tool/profile.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "loader/format/file.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/json.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

std::string fixed(double number, int decimals) {
  return tenon::detail::format_digits(number, std::chars_format::fixed, decimals);
}

void write_trace(const Profile& profile, const std::string& file) {
  std::string json = "[";
  for (const Profile::Entry& e : profile.entries)
    json += str_cat(json.size() > 1 ? ",\n" : "\n", "{\"name\":", json_string(e.node),
                    ",\"cat\":", json_string(e.op),
                    ",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":", fixed(e.start_us, 3),
                    ",\"dur\":", fixed(e.duration_us, 3), "}");
  loader::write_file(loader::path_named(file), json + "\n]\n");
}

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

void profile_runs(const Session& session, const Feeds& feeds, RunOptions options, const std::string& trace) {
  using Clock = std::chrono::steady_clock;
  using Node = std::pair<std::string, std::string>;  // operator and name
  std::map<Node, std::vector<double>> times;         // of each run, in microseconds
  Profile profile;
  options.profile = &profile;
  std::size_t runs = 0;
  const auto end = Clock::now() + std::chrono::seconds(1);
  do {
    profile.entries.clear();
    (void)session.run(feeds, options);
    ++runs;
    for (const Profile::Entry& e : profile.entries) {
      std::vector<double>& of_node = times[{e.op, e.node}];
      of_node.resize(runs);
      of_node.back() += e.duration_us;
    }
  } while (Clock::now() < end);
  if (!trace.empty()) write_trace(profile, trace);

  std::vector<std::pair<double, const Node*>> slowest;
  double total = 0;
  for (auto& [node, of_node] : times) {
    of_node.resize(runs);
    slowest.emplace_back(median(of_node), &node);
    total += slowest.back().first;
  }
  std::sort(slowest.begin(), slowest.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : *a.second < *b.second;
  });
  std::printf("%10s %6s  %-24s %s\n", "us", "%", "operator",
              str_cat("node (medians of ", runs, " runs)").c_str());
  for (const auto& [us, node] : slowest)
    std::printf("%10s %6s  %-24s %s\n", fixed(us, 1).c_str(),
                fixed(total > 0 ? 100 * us / total : 0, 2).c_str(), node->first.c_str(),
                node->second.c_str());
}

}  // namespace tenon::TENON_ABI::tool
