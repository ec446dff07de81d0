// Compare-and-swap of which it can be found out (sure_swap.h), by several members, some of whom die in the
// midst of one and have a successor. Each value is put there once, in the place of one that was expected; so
// from what stands there now all swaps can be followed back, and those must be the ones whose members were
// told that they are done, and none of which it was said that it is not.
#include <map>

#include "hamlyn/segment/sure_swap.h"
#include "test/simulation/books/protocols/exported.h"
#include "test/simulation/books/protocols/own_and_others.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kMembers = 4;
constexpr std::size_t kBytes = 4096;

struct Swap {
  enum class How : std::uint8_t { open, done, not_done };
  std::uint32_t expected = 0;
  How how = How::open;
};

struct Word : Exported {
  std::map<std::uint32_t, Swap> swaps;   // by what they put there: 1, 2, 3...
  std::uint32_t last = 0;                // value when it went
  std::uint64_t members[kMembers] = {};  // processes; 0: nobody
  std::uint32_t value() const { return bytes != nullptr ? value_at<std::uint32_t>(*this, 0) : last; }
};

class SureSwaps final : public Book {
 public:
  explicit SureSwaps(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;
  // Why it cannot be as it is; null: it can.
  static const char* problem_of(const Word& word) {
    std::size_t done = 0;
    for (std::uint32_t value = word.value(); value != 0;) {
      const auto swap = word.swaps.find(value);
      if (swap == word.swaps.end()) return "a value stands there that nobody has swapped in";
      if (swap->second.how == Swap::How::not_done) return "a swap was done that was said not to be";
      done += swap->second.how == Swap::How::done;
      value = swap->second.expected;
    }
    const auto is_done = [](const auto& each) { return each.second.how == Swap::How::done; };
    return done == static_cast<std::size_t>(std::ranges::count_if(word.swaps, is_done))
               ? nullptr
               : "a swap that was done cannot be found";
  }
  void look_at(const Word& word) {
    if (const char* const problem = problem_of(word)) stage.demand(false, problem);
  }

  Stage& stage;
  std::deque<Word> words;
};

class WordOwner {
 public:
  WordOwner(SureSwaps& book, Manager& manager) : book_(book), stage_(book.stage), own_(stage_, manager) {}
  ~WordOwner() { go(); }
  WordOwner(const WordOwner&) = delete;
  WordOwner& operator=(const WordOwner&) = delete;

  void act() {
    if (!own_) {
      own_.make(book_.words, kBytes);
      return;
    }
    book_.look_at(own_.place());
    const std::uint64_t dice = stage_.chance().below(100);
    if (dice < 10) own_.revoke();
    if (dice == 99) go();
  }
  bool take() { return false; }

 private:
  void go() {
    if (!own_) return;
    own_.place().last = own_.place().value();
    own_.go();
  }

  SureSwaps& book_;
  Stage& stage_;
  OwnExport<Word> own_;
};

class Member {
 public:
  Member(SureSwaps& book, Manager& manager)
      : sends_(book.stage), book_(book), stage_(book.stage), import_(stage_, manager) {}
  ~Member() { leave(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void act() {
    if (!swap_) return join();
    if (import_.place().gone) return leave();
    if (!import_ && !import_.open(import_.place())) return;
    for (std::uint64_t count = stage_.chance().between(1, 4); count != 0 && import_; --count) do_something();
  }

 private:
  void do_something() {
    if (begun_ != 0) return settle();
    const std::uint64_t dice = stage_.chance().below(100);
    if (dice < 80) {
      swap();
    } else if (dice < 95) {
      load();
    } else if (dice < 98) {
      import_.reset();
    } else {
      leave();
    }
  }

  // As one who was not there, or has died.
  void join() {
    Word* const word = any_of_others(book_.words, stage_);
    if (word == nullptr || word->gone) return;
    for (who_ = 0; who_ != kMembers; ++who_) {
      std::uint64_t& process = word->members[who_];
      if (process != 0 && stage_.host.inhabitant(process).alive) continue;
      process = stage_.me();
      swap_.emplace(0, kMembers, who_ + 1);
      seen_ = begun_ = 0;
      import_.open(*word);
      return;
    }
  }
  // What it has begun may be done, and late.
  void leave() {
    if (!swap_) return;
    if (stage_.alive()) import_.place().members[who_] = 0;
    import_.reset();
    swap_.reset();
  }

  void swap() {
    Word& word = import_.place();
    sim::Generator& chance = stage_.chance();
    const std::uint32_t expected = chance.one_in(6) ? static_cast<std::uint32_t>(chance.below(9)) : seen_;
    const auto desired = static_cast<std::uint32_t>(word.swaps.size() + 1);
    word.swaps[desired] = {.expected = expected};
    ++stage_.counts.operations;
    const Doing doing(stage_, OperationKind::sure_swap, word.owner);
    const Status status = swap_->swap(*import_, expected, desired, import_.patience(), &seen_);
    stage_.demand(status != Status::ok || seen_ == desired, "a swap has put something else there");
    is_over(status, desired);
  }
  void settle() {
    const Doing doing(stage_, OperationKind::sure_swap, import_.place().owner);
    is_over(swap_->settle(*import_, import_.patience(), &seen_), begun_);
  }
  void is_over(Status status, std::uint32_t desired) {
    Word& word = import_.place();
    stage_.host.note("swaps % into word %: status %",
                     {desired, word.number, static_cast<std::uint64_t>(status)});
    begun_ = swap_->settled() ? 0 : desired;
    const bool known = status == Status::ok || status == Status::not_ready;
    stage_.demand(!known || begun_ == 0, "it is known how a swap has ended, and is not");
    if (begun_ == 0) word.swaps[desired].how = status == Status::ok ? Swap::How::done : Swap::How::not_done;
    if (!known) return import_.ended(status);
    ++stage_.counts.completed;
    book_.look_at(word);
  }
  void load() {
    std::uint32_t value = 0;
    const Doing doing(stage_, OperationKind::sure_swap, import_.place().owner);
    const Status status = swap_->load(*import_, value, import_.patience());
    if (status != Status::ok) return import_.ended(status);
    const bool known = value == 0 || import_.place().swaps.count(value) != 0;
    stage_.demand(known, "a value was read that nobody has swapped in");
    seen_ = value;
  }

  const Sends sends_;
  SureSwaps& book_;
  Stage& stage_;
  OthersImport<Word> import_;
  std::optional<SureSwap> swap_;
  std::uint32_t who_ = 0;
  std::uint32_t seen_ = 0;
  std::uint32_t begun_ = 0;  // what it has put there, or not; 0: that is known
};

std::unique_ptr<Part> SureSwaps::come(Manager& manager) {
  return std::make_unique<OwnAndOthers<SureSwaps, WordOwner, Member>>(*this, manager);
}

void SureSwaps::check() {
  for (const Word& word : words) {
    const char* const problem = problem_of(word);
    stage.host.demand(problem == nullptr, problem);
  }
}

}  // namespace

std::unique_ptr<Book> make_sure_swaps(Stage& stage) { return std::make_unique<SureSwaps>(stage); }

}  // namespace hamlyn::simulation
