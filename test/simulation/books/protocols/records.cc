// Versioned records of segments (versioned.h): one that its exporter writes, and one that each importer
// pushes. Whoever reads one has it whole, as it stood there meanwhile, whatever packets it came in; or not
// within his time.
#include <array>

#include "hamlyn/segment/versioned.h"
#include "test/simulation/books/protocols/exported.h"
#include "test/simulation/books/protocols/own_and_others.h"

namespace hamlyn::simulation {

namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kWords = 24;  // so that some links carry it in several packets

struct Value {
  std::array<std::uint64_t, kWords> words{};
  static Value of(std::uint64_t number) {
    Value value;
    for (std::size_t i = 0; i != kWords; ++i) value.words[i] = number << 8 | i;
    return value;
  }
  std::uint64_t number() const { return words[0] >> 8; }
};
using Record = Versioned<Value>;
constexpr std::size_t kRecords = kBytes / sizeof(Record);

struct Shelf : Exported {
  struct Row {
    std::uint64_t begun = 0;  // so many values were written, or begun to be
    std::uint64_t seen = 0;   // the last of them that somebody has read, or that has landed
  };
  std::deque<Row> rows;  // the first is the exporter's
};

constexpr std::size_t offset_of(std::size_t row) { return row * sizeof(Record); }

class Records final : public Book {
 public:
  explicit Records(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override {}
  // What was read, when that many had been seen before.
  void look_at(const Value& value, Shelf::Row& row, std::uint64_t before) {
    const std::uint64_t number = value.number();
    stage.demand(value.words == Value::of(number).words, "a record is not whole");
    stage.demand(number >= before && number <= row.begun, "a record was read that did not stand there");
    if (stage.alive()) row.seen = std::max(row.seen, number);
    ++stage.counts.completed;
  }

  Stage& stage;
  std::deque<Shelf> shelves;
};

class ShelfOwner {
 public:
  ShelfOwner(Records& book, Manager& manager) : book_(book), stage_(book.stage), own_(stage_, manager) {}
  ~ShelfOwner() { go(); }
  ShelfOwner(const ShelfOwner&) = delete;
  ShelfOwner& operator=(const ShelfOwner&) = delete;

  void act() {
    if (!own_) own_.make(book_.shelves, kBytes).rows.emplace_back();
    write();
    const std::size_t other = stage_.chance().below(shelf().rows.size());
    if (other != 0) read(other);
    if (stage_.chance().one_in(60)) go();
  }
  bool take() { return false; }

 private:
  Shelf& shelf() { return own_.place(); }
  void write() {
    Shelf::Row& row = shelf().rows.front();
    row.seen = ++row.begun;
    OwnVersioned<Value>(*own_, 0).write(Value::of(row.begun));
  }
  void read(std::size_t number) {
    Shelf::Row& row = shelf().rows[number];
    const std::uint64_t before = row.seen;
    Value value;
    const Status status = OwnVersioned<Value>(*own_, offset_of(number)).read(value);
    if (status == Status::ok) return book_.look_at(value, row, before);
    stage_.demand(status == Status::not_ready, "a record is answered as it cannot be", status);
  }
  void go() {
    if (own_) own_.go();
  }

  Records& book_;
  Stage& stage_;
  OwnExport<Shelf> own_;
};

class Pusher {
 public:
  Pusher(Records& book, Manager& manager)
      : sends_(book.stage), book_(book), stage_(book.stage), import_(stage_, manager) {}
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  void act() {
    if (!import_) return open();
    for (std::uint64_t count = stage_.chance().between(1, 4); count != 0 && import_; --count) {
      const std::uint64_t dice = stage_.chance().below(100);
      if (dice < 45) {
        write();
      } else if (dice < 96) {
        read(stage_.chance().below(shelf().rows.size()));
      } else {
        import_.reset();
      }
    }
  }

 private:
  Shelf& shelf() { return import_.place(); }
  void open() {
    Shelf* const shelf = any_of_others(book_.shelves, stage_);
    if (shelf == nullptr || shelf->gone || !import_.open(*shelf)) return;
    if (shelf->rows.size() == kRecords) return import_.reset();
    row_ = shelf->rows.size();
    shelf->rows.emplace_back();
    record_.emplace(*import_, offset_of(row_));
  }
  void write() {
    Shelf::Row& row = shelf().rows[row_];
    ++stage_.counts.operations;
    const Doing doing(stage_, OperationKind::record_write, shelf().owner);
    const Status status = record_->write(Value::of(++row.begun), import_.patience());
    if (status != Status::ok) return import_.ended(status);
    if (stage_.chance().one_in(3)) flush();
  }
  void flush() {
    Shelf::Row& row = shelf().rows[row_];
    const Status status = import_->flush(import_.patience());
    if (status != Status::ok) return import_.ended(status);
    if (!stage_.alive() || shelf().bytes == nullptr) return;
    const auto record = value_at<Record>(shelf(), offset_of(row_));
    stage_.demand(record.whole() && record.value.number() == row.begun,
                  "a record that has landed is not there");
    row.seen = row.begun;
  }
  void read(std::size_t number) {
    Shelf::Row& row = shelf().rows[number];
    const std::uint64_t before = row.seen;
    ++stage_.counts.operations;
    const Doing doing(stage_, OperationKind::record_read, shelf().owner);
    Value value;
    const Status status = FarVersioned<Value>(*import_, offset_of(number)).read(value, import_.patience());
    if (status == Status::ok) return book_.look_at(value, row, before);
    if (status == Status::not_ready) return stage_.demand(before == 0, "a record is gone that was there");
    import_.ended(status);
  }

  const Sends sends_;
  Records& book_;
  Stage& stage_;
  OthersImport<Shelf> import_;
  std::size_t row_ = 0;
  std::optional<FarVersioned<Value>> record_;
};

std::unique_ptr<Part> Records::come(Manager& manager) {
  return std::make_unique<OwnAndOthers<Records, ShelfOwner, Pusher>>(*this, manager);
}

}  // namespace

std::unique_ptr<Book> make_records(Stage& stage) { return std::make_unique<Records>(stage); }

}  // namespace hamlyn::simulation
