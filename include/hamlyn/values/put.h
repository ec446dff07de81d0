#pragma once
// Puts: data into a slot of another interface, and nothing said of it: the papers' WRITE, which separates
// data from control (paper 4, section 3.3). `Terminus::put` sends them, `Slot::Options::puts` takes them, and
// `Terminus::fence` asks whether they have landed. docs/remote-memory.md explains them.
#include <cstddef>
#include <cstdint>
#include <span>

namespace hamlyn {

// Whether the owner of a slot is told of puts (paper 4, section 3.4.5).
enum class Control : std::uint8_t {
  never,
  always,       // of those that arrive while one is not read yet, together
  conditional,  // of those that ask for it
};

// Data in chunks: `x_chunks` of `chunk` bytes, one every `x_stride` bytes, and `y_chunks` such rows, one
// every `y_stride` bytes (paper 4, section 3.3, WRITEV): a plane of an array of three dimensions.
struct Strides {
  std::uint32_t chunk = 0;
  std::uint32_t x_chunks = 1;
  std::uint32_t y_chunks = 1;
  std::uint64_t x_stride = 0;
  std::uint64_t y_stride = 0;
};

// How a put of 4 or 8 bytes, a number, to an aligned word may signal what was put before: it never overtakes
// what waits in the slot, and is refused if a put before it was, since the last fence.
enum class Signal : std::uint8_t { none, set, add };

// Operations through a MappedSlot that the owner is told of.
enum class Touched : std::uint8_t { written, read, swapped };

// One of a row of puts: what `put` is given for a single one, without options.
struct PutMessage {
  std::span<const std::byte> data;  // up to 48 bytes
  std::uint64_t offset = 0;         // from the ticket's base
};

struct PutOptions {
  std::uint64_t offset = 0;  // from the ticket's base
  // The owner is told when all of it has landed, unless its slot's Control is `never`. Takes one of the
  // places that the slot keeps for this link, or is answered no_place; refused: it keeps none.
  bool notify = false;
  // The data is numbers of so many bytes, as for SendOptions::element.
  std::uint32_t element = 0;
  // Null: it lands in one run.
  const Strides* strides = nullptr;
  Signal signal = Signal::none;  // what the number does to the word there
  // With no data, and `notify`: so many bytes were stored there already, read or swapped, through a
  // MappedSlot.
  std::uint64_t stored = 0;
  Touched touched = Touched::written;  // with `stored`: what was done there
};

// Operations that a slot's owner lets an interface do there.
struct Opened {
  bool puts = false;  // Terminus::put
  bool gets = false;  // Terminus::get
  bool told = false;  // of what asks for it: the slot keeps places for this interface
};

// A put that arrived where nothing may land now.
struct HeldPut {
  std::uint64_t offset = 0;  // from the slot's base
  std::uint64_t length = 0;  // bytes
  std::uint64_t peer = 0;    // the interface that sent it
  bool notify = false;       // it asked that the owner be told
};

}  // namespace hamlyn
