// A rank of a Split-C program, as `hamlyn run` starts it in tests: the first word says what it does.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>

#include "test/splitc/chores.h"
#include "test/splitc/refusals.h"

namespace hamlyn::test {
namespace {

using namespace hamlyn::splitc;
using hamlyn::splitc::sync;  // and not that of <unistd.h>

// Dies in the middle of something that all do again and again; `which` says what.
void die(const std::string& which) {
  everywhere<std::uint64_t> words(ranks());
  for (std::uint64_t round = 0;; ++round) {
    if (round == 50 && rank() == ranks() - 1) ::kill(::getpid(), SIGKILL);
    const Rank next = (rank() + 1) % ranks();
    if (which == "barrier") barrier();
    if (which == "read") splitc_chores::require(*words.at(ranks() - 1) == 0, "it is another");
    if (which == "store") {
      store(words.at(next), round);
      store_sync(sizeof round);
    }
    if (which == "get") {
      std::uint64_t got = 0;
      get(got, words.at(next));
      put(words.at(next, 1 % ranks()), round);
      sync();
    }
    if (which == "call") call<splitc_chores::square>(next, 3u);
    if (which == "word") fetch_add(words.at(ranks() - 1), 1);
    if (which == "bulk") {
      std::array<std::uint64_t, 100> many{};
      bulk_write(words.at(ranks() - 1), std::span(many).first(1));
    }
  }
}

int run(int count, char** words) {
  Program program(count, words, {.heap = std::size_t{1} << 20});
  const std::string word = count > 1 ? words[1] : "";
  if (word == "all") splitc_chores::do_all();
  if (word == "refusals") splitc_refusals::do_all();
  if (word == "die") die(words[2]);
  if (word == "disagree") splitc_refusals::disagree();
  if (word == "leave" && rank() == 1 % ranks()) return 0;
  if (word == "leave") barrier();
  program.end();
  if (rank() == 0) std::printf("%u ranks have done it\n", ranks());
  return 0;
}

}  // namespace
}  // namespace hamlyn::test

int main(int count, char** words) {
  try {
    return hamlyn::test::run(count, words);
  } catch (const hamlyn::Error& error) {
    std::fprintf(stderr, "%s (%s)\n", error.what(), name(error.code()));
    return 5;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 6;
  }
}
