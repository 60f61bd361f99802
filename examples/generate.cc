// A language model that is built in code, which has learnt which letter follows which, and a text from it.
#include <cmath>
#include <cstdio>
#include <string>

#include "tenon/generate.hpp"
#include "tenon/op/tensor/gather.hpp"

namespace {

constexpr std::string_view letters = " .abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view lesson =
    "the cat sat on the mat. the dog ran to the door and the cat hid in the den. then the sun rose over the "
    "sea and all the birds sang to the trees. ";

int token_of(char letter) { return static_cast<int>(letters.find(letter)); }

// For each letter, the logarithms of how often each letter follows it.
tenon::Tensor<float, tenon::Shape<28, 28>> table() {
  tenon::Tensor<float, tenon::Shape<28, 28>> t;
  for (std::size_t k = 0; k < lesson.size(); ++k)
    t(token_of(lesson[k]), token_of(lesson[(k + 1) % lesson.size()])) += 1;
  for (float& x : t) x = std::log(x);
  return t;
}

}  // namespace

int main() {
  using namespace tenon;
  Graph g;
  auto tokens = g.input<int64_t, Shape<dyn, dyn>>("input_ids");
  g.output("logits", g.add<op::Gather{}>(table(), tokens));
  const Session session(std::move(g));

  const int full_stop = token_of('.');
  const std::vector<int> prompt = {token_of('t')};
  std::string text = "t";
  const Generator generator(session);
  for (const int token : generator.stream(
           prompt,
           {.max_tokens = 60, .temperature = 0.7f, .top_p = 0.9f, .seed = 7, .stop_tokens = {full_stop}}))
    text += letters[static_cast<std::size_t>(token)];
  std::printf("%s\n", text.c_str());
  return text.size() > 1 && text.size() <= 61 ? 0 : 1;
}
