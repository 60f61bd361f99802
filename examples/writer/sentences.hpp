// Sentences about a harbour, a kitchen and a garden, which a grammar makes.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace writer {

// A rule is a line, NAME = ALTERNATIVE | ALTERNATIVE; {NAME} in an alternative stands for one of the rule's.
// A person's rules are chosen together: the verb and the pronouns of a text agree with its subject.
constexpr std::string_view grammar = R"(
text = {opening} {harbour} | {opening} {kitchen} | {opening} {garden}

opening = {when} {weather}.
when = At dawn | In the morning | Before noon | On a quiet day | Late in {season} | On the first day of {season}
season = spring | summer | autumn | winter
weather = a {cold} wind comes from the {north} | the {fog} lies over the {bay} | rain falls on the {roofs}
weather = the sun warms the {roofs} | the clouds move towards the {north} | a {cold} rain has washed the {roofs}
cold = cold | warm | light | steady
north = north | south | east | west | sea | hills
fog = fog | mist | first light | smoke of the chimneys
bay = bay | river | valley | island
roofs = roofs | street | stones | old walls | fields

harbour = {The} {sailor}{n} {work at sea}, and {he} {wait}{s} for the {tide}. {at sea} {after}, {he} {go home}.
sailor = sailor | pilot | captain | fisher
work at sea = mend{s} {his} nets on the quay | paint{s} {his} boat {blue} | coil{s} the ropes by the mast
work at sea = load{s} the boat with {salt} | clean{s} the deck of {his} boat | sort{s} the fish into baskets
blue = blue | white | green
salt = salt | barrels | ice and salt | fresh water
tide = tide | ferry | evening tide | harbour bell
at sea = The gulls cry above the {masts}. | A {ship} passes the lighthouse. | The waves beat against the {masts}.
at sea = The water is as smooth as {glass}. | The harbour smells of {tar}.
masts = masts | pier | harbour wall
ship = ship with {blue} sails | small steamer | ferry full of people
glass = glass | oil | a mirror
tar = tar | fish and tar | salt and smoke
go home = row{s} home with a basket of {fish} | tie{s} up {his} boat by the pier | sail{s} round the island
fish = herring | crabs | silver fish

kitchen = {The} {cook}{n} {work at home}, and {he} {sing}{s}. {at home} {after}, {he} {serve}.
cook = cook | baker | waiter
work at home = stir{s} the {soup} | knead{s} the dough for {the bread} | peel{s} a bowl of {onions}
work at home = heat{s} the milk in {his} largest pan | cut{s} the {onions} into thin slices
soup = soup | porridge | sauce | fish soup
the bread = the bread | twelve rolls | an apple pie
onions = onions | carrots | potatoes | apples
sing = sing | whistle | hum
at home = The kettle sings on the {stove}. | The bread smells of {butter}. | A pot of {soup} steams on the {stove}.
at home = The cat sleeps under the {stove}. | The windows are white with steam.
stove = stove | table | bench
butter = butter | honey | yeast and butter
serve = set{s} the table for {six} guests | share{s} the {soup} with the neighbours | dr{ies} the plates
six = six | seven | ten | twelve

garden = {The} {gardener}{n} {work outside}, and {he} {wait}{s} for the {rain}. {outside} {after}, {he} {gather}.
gardener = gardener | farmer | neighbour | beekeeper
work outside = water{s} the {beans} | dig{s} the soil for the {beans} | feed{s} the hens | rake{s} the leaves
work outside = plant{s} a row of {beans} | cut{s} the hedge with {his} old shears
beans = beans | roses | cabbages | young trees
rain = rain | swallows | first frost
outside = The bees hum among the {roses}. | The hens scratch under the {tree}. | A blackbird sings in the {tree}.
outside = The soil is dark and {wet}. | The leaves of the {tree} shine.
roses = roses | beans | herbs
tree = apple tree | pear tree | hedge
wet = wet | warm | full of worms
gather = pick{s} a bowl of {cherries} | carr{ies} the tools to the shed | rest{s} on the bench by the wall
cherries = cherries | plums | pears

after = In the evening | When the bell rings | Before the lamps are lit | As soon as it is dark | After {his} work
wait = wait | hope
old = old | young | tall | cheerful | patient
)";

constexpr std::string_view persons[] = {
    "The = The {old}\nn =\ns = s\nies = ies\nhe = he\nhis = his",
    "The = The {old}\nn =\ns = s\nies = ies\nhe = she\nhis = her",
    "The = Two {old} | The three {old}\nn = s\ns =\nies = y\nhe = they\nhis = their"};

class Sentences {
 public:
  explicit Sentences(unsigned seed) : random_(seed) {}

  // A text of four sentences or so, which ends with a line feed.
  std::string next() {
    rules_.clear();
    read(grammar);
    read(persons[choose(std::size(persons))]);
    return expand("{text}") + '\n';
  }

 private:
  std::size_t choose(std::size_t count) { return random_() % count; }

  void read(std::string_view text) {
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      const std::size_t equals = line.find(" =");
      if (equals == line.npos) continue;
      std::vector<std::string_view>& alternatives = rules_[line.substr(0, equals)];
      line.remove_prefix(std::min(equals + 3, line.size()));
      for (std::size_t bar = 0; bar != line.npos;) {
        bar = line.find(" | ");
        alternatives.push_back(line.substr(0, bar));
        if (bar != line.npos) line.remove_prefix(bar + 3);
      }
    }
  }
  std::string expand(std::string_view text) {
    std::string result;
    while (!text.empty()) {
      const std::size_t open = text.find('{');
      result += text.substr(0, open);
      if (open == text.npos) break;
      const std::size_t close = text.find('}', open);
      const std::vector<std::string_view>& alternatives = rules_.at(text.substr(open + 1, close - open - 1));
      result += expand(alternatives[choose(alternatives.size())]);
      text.remove_prefix(close + 1);
    }
    return result;
  }

  std::mt19937 random_;
  std::map<std::string_view, std::vector<std::string_view>> rules_;
};

}  // namespace writer
