// ONNX Runtime's shared library by its C interface, and a processor that stops at AVX2 for it.
#pragma once

#include <dlfcn.h>
#if defined(__linux__) && defined(__x86_64__)
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

// --- The library ---

struct Status;
struct Environment;
struct SessionOptions;
struct Session;
struct RunOptions;
struct Binding;
struct Value;
struct MemoryInfo;
struct Allocator;
struct TypeInfo;
struct TensorInfo;

// What OrtGetApiBase returns. The functions are a table to which releases append, so that a slot keeps its
// function.
struct ApiBase {
  void* const* (*table)(std::uint32_t version);
  const char* (*version)();
};

// The slots of onnxruntime_c_api.h that are used here; the newest came with version 5 of the table.
constexpr std::uint32_t table_version = 5;

template <class... Parameters>
struct Slot {
  int number;
};
constexpr int get_error_message = 2;
constexpr Slot<int, const char*, Environment**> create_environment{3};
constexpr Slot<const Environment*, const char*, const SessionOptions*, Session**> create_session{7};
constexpr Slot<SessionOptions**> create_session_options{10};
constexpr Slot<SessionOptions*, const char*> set_optimized_model_file{11};
constexpr Slot<SessionOptions*, int> set_optimization_level{23}, set_threads{24}, set_parallel_nodes{25};
constexpr Slot<const Session*, std::size_t*> input_count{30}, output_count{31};
constexpr Slot<const Session*, std::size_t, TypeInfo**> input_type{33};
constexpr Slot<const Session*, std::size_t, Allocator*, char**> input_name{36}, output_name{37};
constexpr Slot<RunOptions**> create_run_options{39};
constexpr Slot<const MemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t, int, Value**>
    wrap_tensor{49};
constexpr Slot<Value*, int*> is_tensor{50};
constexpr Slot<Value*, void**> tensor_data{51};
constexpr Slot<const TypeInfo*, const TensorInfo**> cast_to_tensor{55};
constexpr Slot<const TensorInfo*, int*> element_type{60};
constexpr Slot<const TensorInfo*, std::size_t*> rank{61};
constexpr Slot<const TensorInfo*, std::int64_t*, std::size_t> extents{62};
constexpr Slot<const Value*, TensorInfo**> tensor_info{65};
constexpr Slot<int, int, MemoryInfo**> create_cpu_memory_info{69};
constexpr Slot<Allocator**> default_allocator{78};
constexpr Slot<Session*, const RunOptions*, const Binding*> run_bound{133};
constexpr Slot<Session*, Binding**> create_binding{134};
constexpr Slot<Binding*, const char*, const Value*> bind_input{136}, bind_output{137};
constexpr Slot<Binding*, const char*, const MemoryInfo*> bind_output_to_device{138};
constexpr Slot<const Binding*, Allocator*, Value***, std::size_t*> bound_outputs{140};

class Library {
 public:
  explicit Library(const char* file) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto base = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
    if (base == nullptr) throw std::runtime_error(std::string(file) + " is no ONNX Runtime");
    version_ = base()->version();
    if (!version_.starts_with("1."))
      throw std::runtime_error("the order of functions is known of 1.x, this is " + version_);
    functions_ = base()->table(table_version);
    if (functions_ == nullptr) throw std::runtime_error("ONNX Runtime " + version_ + " is too old");
  }

  const std::string& version() const { return version_; }

  /// Calls a function. Throws its message when it fails.
  template <class... Parameters>
  void operator()(Slot<Parameters...> slot, std::type_identity_t<Parameters>... arguments) const {
    const auto function = reinterpret_cast<Status* (*)(Parameters...)>(functions_[slot.number]);
    if (const Status* const status = function(arguments...); status != nullptr)
      throw std::runtime_error(
          reinterpret_cast<const char* (*)(const Status*)>(functions_[get_error_message])(status));
  }
  /// Calls a function that makes something, its last parameter, which lives as long as the process.
  template <class Made, class... Arguments, class... Parameters>
  Made make(Slot<Parameters...> slot, Arguments... arguments) const {
    Made made{};
    (*this)(slot, arguments..., &made);
    return made;
  }

 private:
  void* const* functions_ = nullptr;
  std::string version_;
};

// --- The level ---

#if defined(__linux__) && defined(__x86_64__)
// The bits of AVX-512 and AMX in the registers of cpuid's leaf 7, which are hidden. Of subleaf 1, which has
// later features, all bits are hidden, or all but AVX-VNNI's.
constexpr unsigned beyond_avx2_ebx = 1u << 16 | 1u << 17 | 1u << 21 | 7u << 26 | 1u << 30 | 1u << 31;
constexpr unsigned beyond_avx2_ecx = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14;
constexpr unsigned beyond_avx2_edx = 1u << 2 | 1u << 3 | 1u << 8 | 0xFu << 22;

unsigned shown_of_subleaf_1 = 0;

// Whether cpuid works in this thread, and in the threads that it starts; otherwise it raises SIGSEGV.
bool allow_cpuid(bool allowed) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, allowed) == 0; }

// Answers a cpuid that was trapped, and lets any other fault end the process.
void answer_cpuid(int signal, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr unsigned char cpuid[] = {0x0F, 0xA2};
  if (std::memcmp(reinterpret_cast<const void*>(registers[REG_RIP]), cpuid, sizeof cpuid) != 0) {
    ::signal(signal, SIG_DFL);
    return;
  }
  const auto leaf = static_cast<unsigned>(registers[REG_RAX]);
  const auto subleaf = static_cast<unsigned>(registers[REG_RCX]);
  unsigned a, b, c, d;
  allow_cpuid(true);
  __cpuid_count(leaf, subleaf, a, b, c, d);
  allow_cpuid(false);
  if (leaf == 7 && subleaf == 0) b &= ~beyond_avx2_ebx, c &= ~beyond_avx2_ecx, d &= ~beyond_avx2_edx;
  if (leaf == 7 && subleaf > 0) a = subleaf == 1 ? a & shown_of_subleaf_1 : 0, b = c = d = 0;
  registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
  registers[REG_RIP] += sizeof cpuid;
}

// Whether the processor has something that answer_cpuid would hide.
bool exceeds_avx2() {
  unsigned subleaves, a, b, c, d;
  __cpuid_count(7, 0, subleaves, b, c, d);
  if ((b & beyond_avx2_ebx) != 0 || (c & beyond_avx2_ecx) != 0 || (d & beyond_avx2_edx) != 0) return true;
  if (subleaves == 0) return false;
  __cpuid_count(7, 1, a, b, c, d);
  return (a & ~shown_of_subleaf_1) != 0 || b != 0 || c != 0 || d != 0;
}

// Shows a library that is loaded afterwards a processor that stops at AVX2, and AVX-VNNI.
void stop_at_avx2(bool vnni) {
  if (vnni) shown_of_subleaf_1 = 1u << 4;
  if (!exceeds_avx2()) return;
  struct sigaction action{};
  action.sa_sigaction = answer_cpuid;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSEGV, &action, nullptr) != 0 || !allow_cpuid(false))
    throw std::runtime_error("this machine cannot trap cpuid, so that no level can be set");
}
#else
void stop_at_avx2(bool) { throw std::runtime_error("--level needs Linux on x86-64"); }
#endif

}  // namespace
