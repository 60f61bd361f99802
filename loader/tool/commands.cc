// `tenon`: runs, tests, describes and times models.
#include "loader/tool/commands.hpp"

#include <algorithm>
#include <charconv>
#include <exception>

#include "loader/display.hpp"
#include "loader/os.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/embedded_headers.hpp"
#include "tenon/base/platform/decimal.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

constexpr std::string_view usage = R"(usage: tenon COMMAND …

  run MODEL [--input NAME=FILE.npy|FILE.pb|random:1x3x224x224]… [--shape NAME=N,INPUT=1x3x224x224…]…
      [--output DIR] [--threads N] [--profile TRACE.json] [--explain] [--no-passes] [--keep NAME…]
      [--keep-all DIR] [--time-limit SECONDS] [--max-iterations N] [--max-bytes N]
      runs a model once and prints its outputs. Inputs that are not named are random. --profile then runs it
      for a second, prints the median time of each node, and writes the last run for a trace viewer. --explain
      prints what the passes did with the nodes, or why they did nothing; --no-passes runs every node as it
      is. --keep also prints values of the main graph (and writes them with --output), --keep-all writes all
      of them; no pass fuses over a value that is kept. The run ends with an error after its time, after N
      iterations of a loop, or when its values would take more memory
  test DIR… [--threads N] [--no-passes]
      runs cases in the layout of ONNX's backend tests, below every DIR; --no-passes runs every node as it is
  info MODEL [--shape NAME=N,INPUT=1x3x224x224…]… [--json]
      inputs and outputs, metadata, functions, parameters, operators, and the memory plan if the model can run
      here; --json prints the same for programs
  compare A B [--inputs DIR] [--input NAME=SOURCE]… [--shape NAME=N…]… [--rtol R] [--atol A] [--threads N]
  compare MODEL --passes | --levels LEVEL LEVEL [--inputs DIR] …
      runs two models, or one without and with the passes, or at two instruction-set levels, on inputs from
      files or at random; names the first value that differs, then lists the values that both have; the exit
      code is 1 if any differs by more than A + R × its size (by default 1e-5 and 1e-3)
  dump MODEL --dot | --html [-o FILE]
      a drawing: for graphviz, or a page with folding and search
  infer MODEL [--shape NAME=N,INPUT=1x3x224x224…]… [--strict] [--devices] [-o OUTPUT [--external BYTES]]
      types and extents of all values; -o writes them into a copy of the model; --devices prints what each
      device has of the values that the model's device configurations place
  infer --check DIR
      compares with the calls of ONNX's shape inference that DIR/index.jsonl records
  check MODEL [--full] [--pedantic]
      every violation of the rules of ONNX's format and operators; --full also infers types and extents;
      --pedantic also warns about names that are not C identifiers
  check --suite DIR
      compares with the calls of ONNX's checker that DIR/index.jsonl records
  convert MODEL --opset N -o OUTPUT [--external BYTES]
      the same model at another opset of ai.onnx, or the operator that has no equivalent there, and the reason
  convert --suite DIR
      compares with the conversions that DIR/index.jsonl records
  parse TEXT [-o MODEL [--external BYTES]]
      checks a model in ONNX's textual syntax; -o writes it as a file
  parse --suite DIR
      compares with the calls of ONNX's parser that DIR/index.jsonl records
  print MODEL [-o TEXT]
      a model in ONNX's textual syntax
  print --suite DIR
      compares with the calls of ONNX's printer that DIR/index.jsonl records
  inline MODEL [--schema-functions] [--only DOMAIN:NAME…] [--except DOMAIN:NAME…] [--max-nodes N]
      [--max-bytes N] -o OUTPUT [--external BYTES]
      a model with the nodes of its functions in place of their calls, by default at most 1000000 nodes that
      take 128 MiB
  inline --suite DIR
      compares with the calls of ONNX's inliner that DIR/index.jsonl records
  merge A B [--connect OUT=IN…] [--prefix-a PREFIX] [--prefix-b PREFIX] -o OUTPUT [--external BYTES]
      one model of two, with outputs of A as inputs of B
  extract MODEL --inputs NAME,NAME… --outputs NAME,NAME… -o OUTPUT [--external BYTES]
      the part of a model between values
  diff A B
      the differences in the structure of two models, one per line; the exit code is 1 if there is any
  simplify MODEL [--shape NAME=N,INPUT=1x3x224x224…]… [--max-bytes N] [--time-limit SECONDS]
      -o OUTPUT [--external BYTES]
      the model with its constant parts computed, and without nodes on which no output depends; nodes become
      constants of up to N bytes, by default 1 MiB
  shard MODEL --devices N [--tensor | --pipeline S] [--shape NAME=N,INPUT=1x3x224x224…]…
      -o OUTPUT [--external BYTES]
      the model annotated for N devices, in place of its device configurations: --tensor cuts weights into N
      pieces, those of attention by heads, of MLPs by columns, then rows, and tables by rows; --pipeline makes
      S stages of equal work, each on N/S devices, which cut its weights; by default a stage for each device
      if convolutions do most of the multiplications, else --tensor; prints the bytes of weights that each
      rank holds, and the bytes that it sends in a run, in which extents that the model leaves open count as 1
  train MODEL --steps N [--input NAME=FILE.npy|FILE.pb]… [--data DIR]… [--algorithm K]… [--no-init]
      [--threads N] [-o OUTPUT [--external BYTES]]
      runs the initialization and then N times the algorithms of the model's training information, all or
      those named, in order; DIR holds NAME.npy or NAME.pb for inputs, and several DIRs take turns; prints
      the outputs of algorithms that are single numbers; -o writes the trained model
  bench MODEL [--threads N] [--iters N | --seconds S] [--input NAME=FILE.npy|FILE.pb|random:1x3x224x224]…
      [--shape NAME=N,INPUT=1x3x224x224…]… [--no-passes] [--profile] [--save DIR]
      times runs, on random inputs unless files are named, which --save writes; --profile adds the median time
      of each node; the last line is a JSON object
  ops [--matrix | --html [-o FILE]]
      the operators that models may use: versions and types; --matrix as a table with a column for each type;
      --html as a page with search, their operands, attributes and what their headers say of them
  amalgamate OPERATOR… -o HEADER.hpp
      these operators and all they need, xsimd included, as one header that a program includes in place of
      Tenon's
  compile MODEL -o HEADER.hpp [--shape NAME=N,INPUT=1x3x224x224…]… [--level LEVEL|native | --target TARGET]
      [--weights FILE] [--namespace NAME]
      a header that needs no other: NAME::run(inputs…, outputs…, memory) calls the model's operators in
      memory that is planned, without heap and exceptions; each --shape gives an overload; for one
      instruction-set level, by default the machine's best, or for another machine: aarch64, wasm32, x86-64,
      which are their baselines, aarch64:LEVEL, wasm32:relaxed (relaxed SIMD) or x86-64:LEVEL; with --weights,
      constants of 4 KiB and more go to FILE, whose bytes run takes

  --shape states extents that a model leaves open: of a symbol (batch=1) or of an input (image=1x3x224x224).
  OUTPUT is in ONNX's textual syntax if its name ends with .onnxtxt; --external puts initializers of at least
  BYTES into a file in the same folder, and smaller ones into the model; without it, external data is copied
  to OUTPUT's folder

  help [COMMAND]
      this text, or the part on one command
  --version
      the version, the compiler, the instruction-set levels that the processor has
)";

constexpr struct {
  std::string_view name;
  int (*run)(Arguments);
} commands[] = {{"run", run},
                {"test", test},
                {"info", info},
                {"infer", infer},
                {"check", check},
                {"convert", convert_model},
                {"parse", parse},
                {"print", print},
                {"inline", inline_calls},
                {"merge", merge},
                {"extract", extract},
                {"diff", diff},
                {"simplify", simplify},
                {"shard", shard},
                {"dump", dump},
                {"train", train},
                {"compare", compare},
                {"bench", bench},
                {"ops", ops},
                {"amalgamate", amalgamate},
                {"compile", compile_model}};

/// The usage of one command.
std::string usage_of(std::string_view command) {
  std::string text;
  bool within = false;
  for (std::size_t at = 0, end; at < usage.size(); at = end + 1) {
    end = std::min(usage.find('\n', at), usage.size() - 1);
    const std::string_view line = usage.substr(at, end - at + 1);
    if (!line.starts_with("   ")) within = line.starts_with(str_cat("  ", command, " "));
    if (within) text += line;
  }
  return text;
}

template <class T>
T read_number(std::string_view text, std::string_view option, int64_t least, int64_t most) {
  T n{};
  const char* const stop = text.data() + text.size();
  const auto read = [&] {
    if constexpr (std::is_integral_v<T>) return std::from_chars(text.data(), stop, n);
    else return tenon::detail::read_decimal_number(text.data(), stop, n);
  };
  const auto [end, code] = read();
  if (code != std::errc() || end != stop || !(n >= static_cast<T>(least) && n <= static_cast<T>(most)))
    throw UsageError{str_cat("option ", option, " takes a number from ", least, " to ", most)};
  return n;
}

}  // namespace

void print_version() {
#if defined(__clang__)
  constexpr const char* compiler = "clang++ " __clang_version__;
#elif defined(__GNUC__)
  constexpr const char* compiler = "g++ " __VERSION__;
#else
  constexpr const char* compiler = "Visual C++";
#endif
  std::printf("tenon %s\ncompiler: %s\nlevels: %s (%s in force)\n", library_version, compiler,
              names(simd::present_levels()).c_str(),
              std::string(simd::levels[static_cast<std::size_t>(simd::level())].name).c_str());
}

// Indented lines stay separate: they form a list.
void print_error(std::string_view text, std::string_view program) {
  std::fprintf(stderr, "%s: ", std::string(program).c_str());
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(std::min(text.size(), end + 1))) {
    end = text.find("\n  ");
    std::fprintf(stderr, "%s\n", loader::visible(text.substr(0, end)).c_str());
  }
}

int64_t Arguments::integer(std::string_view option, int64_t least, int64_t most) {
  return read_number<int64_t>(value(option), option, least, most);
}

double Arguments::number(std::string_view option, int64_t least, int64_t most) {
  return read_number<double>(value(option), option, least, most);
}

Extents parse_extents(std::string_view text) {
  Extents e;
  while (!text.empty()) {
    int64_t n = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
    const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (code != std::errc() || n < 0 || e.size() == max_rank || rest == "x" ||
        !(rest.empty() || rest[0] == 'x'))
      throw UsageError{str_cat("'", text, "' is not a shape such as 1x3x224x224")};
    e.push_back(n);
    text = rest.empty() ? rest : rest.substr(1);
  }
  return e;
}

std::vector<HeaderText> Arguments::headers() const {
  const std::span<const HeaderText> own = embedded_headers();
  std::vector<HeaderText> all(own.begin(), own.end());
  for (const auto& more : catalog_->headers) all.insert(all.end(), more.begin(), more.end());
  return all;
}

int run_command(int argc, char** argv, const Catalog& catalog) {
  loader::os::use_utf8();
  try {
    simd::check_request();
  } catch (const Error& e) {
    print_error(e.what());
    return 2;
  }
  std::string command;
  try {
    Arguments arguments(argc - 1, argv + 1, catalog);
    if (arguments.empty()) throw UsageError{"a command is missing"};
    command = arguments.take();
    if (command == "help" && !arguments.empty()) {
      command = arguments.take();
      if (const std::string text = usage_of(command); !text.empty())
        return std::printf("%s", text.c_str()), 0;
      throw UsageError{str_cat("there is no command '", command, "'")};
    }
    if (command == "help" || command == "--help" || command == "-h") {
      std::fwrite(usage.data(), 1, usage.size(), stdout);
      return 0;
    }
    if (command == "--version") {
      print_version();
      return 0;
    }
    for (const auto& c : commands) {
      if (c.name != command) continue;
      if (arguments.empty() || (arguments.next() != "--help" && arguments.next() != "-h"))
        return c.run(arguments);
      std::printf("%s", usage_of(command).c_str());
      return 0;
    }
    throw UsageError{str_cat("there is no command '", command, "'")};
  } catch (const UsageError& e) {
    const std::string text = usage_of(command);
    std::fprintf(stderr, "tenon: %s\n%s", e.message.c_str(),
                 text.empty() ? "tenon --help lists the commands\n" : text.c_str());
    return 2;
  } catch (const std::exception& e) {
    print_error(e.what());
    return 1;
  }
}

}  // namespace tenon::TENON_ABI::tool
