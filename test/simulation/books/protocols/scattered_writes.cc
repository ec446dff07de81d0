// Writes that are scattered over a segment in up to three dimensions, and reads that gather (WRITEV; paper 4,
// section 3.3). Each importer has a part of its own: no byte of it is other than it was, or will be, what was
// flushed stands there, and what is gathered is what was scattered.
#include "interface/packets/strides.h"
#include "test/simulation/books/protocols/exported.h"
#include "test/simulation/books/protocols/own_and_others.h"

namespace hamlyn::simulation {

namespace {

constexpr std::size_t kBytes = 8192;
constexpr std::size_t kPart = 1024, kParts = kBytes / kPart;

struct Plane : Exported {
  struct Piece {
    std::vector<std::byte> now = std::vector<std::byte>(kPart);   // that stands there for sure, or
    std::vector<std::byte> next = std::vector<std::byte>(kPart);  // this does: some of it is on its way
  };
  std::deque<Piece> pieces;
};

// Some shape that fits, and where.
struct Shape {
  Strides strides;
  std::size_t offset = 0;
  explicit Shape(sim::Generator& chance) {
    do {
      strides.chunk = static_cast<std::uint32_t>(chance.between(1, chance.one_in(3) ? 200 : 24));
      strides.x_chunks = static_cast<std::uint32_t>(chance.between(1, 6));
      strides.y_chunks = static_cast<std::uint32_t>(chance.between(1, 4));
      strides.x_stride = strides.chunk + chance.below(20);
      strides.y_stride = strides.x_chunks * strides.x_stride + chance.below(40);
    } while (interface::span_of(strides) > kPart);
    offset = chance.below(kPart - interface::span_of(strides) + 1);
  }
  std::size_t length() const { return interface::data_of(strides); }
  std::size_t place_of(std::size_t at) const { return offset + interface::place_of(strides, at); }
};

class ScatteredWrites final : public Book {
 public:
  explicit ScatteredWrites(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override {}
  void look_at(const Plane& plane) {
    for (std::size_t i = 0; i != plane.pieces.size(); ++i) {
      const Plane::Piece& piece = plane.pieces[i];
      const std::byte* const there = plane.bytes + i * kPart;
      for (std::size_t at = 0; at != kPart; ++at) {
        stage.demand(there[at] == piece.now[at] || there[at] == piece.next[at],
                     "a byte has changed that nobody has written");
      }
    }
  }

  Stage& stage;
  std::deque<Plane> planes;
};

class PlaneOwner {
 public:
  PlaneOwner(ScatteredWrites& book, Manager& manager)
      : book_(book), stage_(book.stage), own_(stage_, manager) {}
  ~PlaneOwner() { go(); }
  PlaneOwner(const PlaneOwner&) = delete;
  PlaneOwner& operator=(const PlaneOwner&) = delete;

  void act() {
    if (!own_) own_.make(book_.planes, kBytes);
    book_.look_at(own_.place());
    if (stage_.chance().one_in(60)) go();
  }
  bool take() { return false; }

 private:
  void go() {
    if (!own_) return;
    if (stage_.alive()) book_.look_at(own_.place());
    own_.go();
  }

  ScatteredWrites& book_;
  Stage& stage_;
  OwnExport<Plane> own_;
};

class Scatterer {
 public:
  Scatterer(ScatteredWrites& book, Manager& manager)
      : sends_(book.stage), book_(book), stage_(book.stage), import_(stage_, manager) {}
  Scatterer(const Scatterer&) = delete;
  Scatterer& operator=(const Scatterer&) = delete;

  void act() {
    if (!import_) return open();
    for (std::uint64_t count = stage_.chance().between(1, 3); count != 0 && import_; --count) {
      const std::uint64_t dice = stage_.chance().below(100);
      if (dice < 55) {
        write();
      } else if (dice < 96) {
        gather();
      } else {
        import_.reset();
      }
    }
  }

 private:
  Plane& plane() { return import_.place(); }
  Plane::Piece& piece() { return plane().pieces[number_]; }
  void open() {
    Plane* const plane = any_of_others(book_.planes, stage_);
    if (plane == nullptr || plane->gone || !import_.open(*plane)) return;
    if (plane->pieces.size() == kParts) return import_.reset();
    number_ = plane->pieces.size();
    plane->pieces.emplace_back();
  }
  // And has it land. Of one that has not, nobody knows what stands there: it is the last.
  void write() {
    const Shape shape(stage_.chance());
    const std::vector<std::byte> data = pattern(shape.length(), stage_.chance().next());
    for (std::size_t at = 0; at != data.size(); ++at) piece().next[shape.place_of(at)] = data[at];
    stage_.host.note("scatters % bytes over %", {data.size(), plane().number});
    ++stage_.counts.operations;
    const Doing doing(stage_, OperationKind::scattered_write, plane().owner);
    Status status =
        import_->write(number_ * kPart + shape.offset, data, import_.patience(), {.strides = &shape.strides});
    if (status == Status::ok) status = import_->flush(kLanding);
    if (status != Status::ok) {
      import_.ended(status);
      return import_.reset();
    }
    ++stage_.counts.completed;
    piece().now = piece().next;
    if (stage_.alive() && plane().bytes != nullptr)
      stage_.demand(same({plane().bytes + number_ * kPart, kPart}, piece().now),
                    "what was scattered, and flushed, is not there");
  }
  void gather() {
    const Shape shape(stage_.chance());
    std::vector<std::byte> data(shape.length());
    ++stage_.counts.operations;
    const Doing doing(stage_, OperationKind::gathered_read, plane().owner);
    const Status status =
        import_->read(number_ * kPart + shape.offset, data, import_.patience(), {.strides = &shape.strides});
    if (status != Status::ok) return import_.ended(status);
    ++stage_.counts.completed;
    for (std::size_t at = 0; at != data.size(); ++at)
      stage_.demand(data[at] == piece().now[shape.place_of(at)],
                    "what was gathered is not what was scattered");
  }

  static constexpr std::chrono::milliseconds kLanding{5};  // between hosts frames are lost, and sent again
  const Sends sends_;
  ScatteredWrites& book_;
  Stage& stage_;
  OthersImport<Plane> import_;
  std::size_t number_ = 0;
};

std::unique_ptr<Part> ScatteredWrites::come(Manager& manager) {
  return std::make_unique<OwnAndOthers<ScatteredWrites, PlaneOwner, Scatterer>>(*this, manager);
}

}  // namespace

std::unique_ptr<Book> make_scattered_writes(Stage& stage) { return std::make_unique<ScatteredWrites>(stage); }

}  // namespace hamlyn::simulation
