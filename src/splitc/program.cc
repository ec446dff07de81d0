// Calls of users: each goes to the run-time of the program that there is.
#include "hamlyn/splitc/program.h"

#include <pthread.h>

#include <charconv>
#include <chrono>
#include <exception>
#include <string_view>

#include "library/setting.h"
#include "library/wait/deadline.h"
#include "library/with_memory.h"
#include "splitc/runtime.h"
#include "splitc/settings.h"

namespace hamlyn {

namespace internal_::splitc {

// A forked child has none of the heaps, and is no rank.
bool is_child = false;
[[maybe_unused]] const int children_are_no_ranks = ::pthread_atfork(nullptr, nullptr, [] {
  is_child = is_child || here->runtime != nullptr;
  here = &nobody;
});

Runtime& runtime() {
  if (is_child) throw Error(ErrorCode::forked, "a forked child is no rank of the program");
  if (here->runtime == nullptr)
    throw Error(ErrorCode::invalid_argument, "there is no Split-C program: make a Program first");
  return *here->runtime;
}

void read(std::uint64_t word, void* into, std::size_t bytes) { runtime().read(word, into, bytes); }
void write(std::uint64_t word, const void* from, std::size_t bytes) { runtime().write(word, from, bytes); }
void store(std::uint64_t word, const void* from, std::size_t bytes) { runtime().store(word, from, bytes); }
std::byte* local(std::uint64_t word, std::size_t bytes) noexcept {
  return here->runtime == nullptr ? nullptr : here->runtime->local(word, bytes);
}
std::uint64_t word_of(const void* mine) { return runtime().word_of(mine); }
std::uint64_t fetch(std::uint64_t word, const Fetch& fetch) { return runtime().fetch(word, fetch); }
void update(std::uint64_t word, const Fetch& fetch) { runtime().update(word, fetch); }

void get(std::uint64_t word, Room into, const Strides* strides, Batch* batch) {
  runtime().get(word, into, strides, batch);
}
void put(std::uint64_t word, Source from, Batch* batch) { runtime().put(word, from, batch); }
void bulk_put(std::uint64_t word, Source from, const Strides* strides, Batch* batch) {
  runtime().bulk_put(word, from, strides, batch);
}
void bulk_read(std::uint64_t word, Room into, const Strides* strides) {
  runtime().bulk_read(word, into, strides);
}
void bulk_write(std::uint64_t word, Source from, const Strides* strides) {
  runtime().bulk_write(word, from, strides);
}
void bulk_store(std::uint64_t word, Source from, const Strides* strides, std::uint64_t counter) {
  runtime().bulk_store(word, from, strides, counter);
}

const std::byte* gather(Kind kind, std::uint32_t root, const void* mine, std::size_t bytes) {
  const std::byte* const all = runtime().gather(kind, root, mine, bytes);
  runtime().tell_thrown();
  return all;
}
void begin_barrier() { runtime().begin(Kind::barrier, 0, 0, nullptr, 0); }
bool barrier_is_over() {
  const bool over = runtime().is_over();
  runtime().tell_thrown();
  return over;
}
void end_barrier() {
  runtime().finish();
  runtime().tell_thrown();
}
void call(std::uint32_t who, std::uint32_t function, const std::byte* arguments, std::byte* result) {
  runtime().call(who, function, arguments, result);
  runtime().tell_thrown();
}

std::uint64_t allocate(std::size_t count, std::size_t bytes) { return runtime().allocate(count, bytes); }
void deallocate(std::uint64_t word) { runtime().deallocate(word); }
std::uint64_t allocate_everywhere(std::size_t count, std::size_t bytes) {
  return runtime().allocate_everywhere(count, bytes);
}
void deallocate_everywhere(std::uint64_t word) { runtime().deallocate_everywhere(word); }
// An exception that is under way has the ranks at different places: then it stays taken. The heap of a
// program that has ended has gone.
void give_back_everywhere(std::uint64_t word) noexcept {
  if (here->runtime == nullptr || std::uncaught_exceptions() != 0) return;
  if (!here->runtime->has_made(word)) return;
  try {
    here->runtime->deallocate_everywhere(word);
  } catch (...) {
    if (!here->runtime->failed()) here->runtime->keep_thrown();  // what has failed says so in each call
  }
}

}  // namespace internal_::splitc

namespace splitc {

using internal_::splitc::here;
using internal_::splitc::Runtime;
using internal_::splitc::runtime;

namespace {

constexpr std::uint32_t kRequests = 64;  // gets under way at one rank

std::size_t size_of(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const int shift = unit.empty() ? 0 : unit == "k" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc{} || shift < 0 || out > ~std::uint64_t{0} >> shift)
    throw Error(ErrorCode::invalid_argument,
                "--heap '" + std::string(text) + "': a number of bytes, or one with k, M or G behind it");
  return out << shift;
}

// Takes the words that are for the library off the command line, up to `--`.
ProgramOptions taken_from(int& count, char** words, ProgramOptions options) {
  int kept = 0;
  bool all_theirs = false;
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    all_theirs = all_theirs || word == "--";
    if (!all_theirs && i != 0 && word == "--guarded") {
      options.guarded = true;
    } else if (!all_theirs && i != 0 && word == "--heap") {
      options.heap = size_of(++i < count ? words[i] : "");
    } else if (!all_theirs && i != 0 && word == "--over") {
      options.over = internal_::splitc::over_of("--over", ++i < count ? words[i] : "");
    } else if (!all_theirs && i != 0 && word == "--credits") {
      options.credits = internal_::splitc::credits_of("--credits", ++i < count ? words[i] : "");
    } else {
      words[kept++] = words[i];
    }
  }
  count = kept;
  words[count] = nullptr;
  return options;
}

std::unique_ptr<Runtime> make(Interface& interface, const JobPlace& place, const ProgramOptions& options) {
  if (internal_::splitc::is_child)
    throw Error(ErrorCode::forked, "a forked child of a rank is no rank of another program either");
  if (here->runtime != nullptr && internal_::library::simulation == nullptr)
    throw Error(ErrorCode::invalid_argument, "this process has a Split-C program already");
  return internal_::library::with_memory(
      "a Split-C program", [&] { return std::make_unique<Runtime>(interface, place, options); });
}

}  // namespace

Program::Program(const ProgramOptions& options)
    : interface_(std::make_unique<Interface>(Interface::Options{.requests = kRequests})),
      runtime_(make(*interface_, place_in_job(), options)),
      exceptions_(std::uncaught_exceptions()) {}
Program::Program(int& count, char** words, const ProgramOptions& options)
    : Program(taken_from(count, words, options)) {}
Program::Program(Interface& interface, const JobPlace& place, const ProgramOptions& options)
    : runtime_(make(interface, place, options)), exceptions_(std::uncaught_exceptions()) {}

Program::~Program() {
  if (std::uncaught_exceptions() > exceptions_ || runtime_->failed() || internal_::splitc::is_child) return;
  try {
    end();
  } catch (...) {  // a rank has ended, or ranks disagree: who wants to know calls `end`
  }
}

void Program::end() {
  runtime_->end();
  runtime_->tell_thrown();
}

bool same_host(Rank other) { return runtime().same_host(other); }
double seconds() noexcept {
  return std::chrono::duration<double>(internal_::library::Clock::now().time_since_epoch()).count();
}
void poll() {
  runtime().poll();
  runtime().tell_thrown();
}

Batch::~Batch() {
  if ((gets_ == 0 && !puts_) || here->runtime == nullptr) return;
  try {
    sync();
  } catch (...) {  // the program has failed, and nothing lands any more; or a function that was called ends
    here->runtime->forget(*this);
  }
}
bool Batch::done() { return runtime().done(this); }
void Batch::sync() { runtime().sync(this); }
void sync() { runtime().sync(nullptr); }
bool all_done() { return runtime().done(nullptr); }

void wait_for(const std::uint64_t& mine, std::uint64_t at_least) {
  runtime().wait_for(mine, at_least);
  runtime().tell_thrown();
}
void store_sync(std::size_t bytes) {
  runtime().store_sync(bytes);
  runtime().tell_thrown();
}
void all_store_sync() {
  runtime().all_store_sync();
  runtime().tell_thrown();
}
void barrier() {
  internal_::splitc::begin_barrier();
  internal_::splitc::end_barrier();
}

}  // namespace splitc

}  // namespace hamlyn
