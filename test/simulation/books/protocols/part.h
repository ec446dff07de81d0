#pragma once
// One protocol in a run: its book of what must happen, and what each process does with it. Each is a file,
// and is named in run_protocols.cc.
#include <memory>

#include "hamlyn/protocols/manager.h"

namespace hamlyn::simulation {

class Stage;

// What one process does with one protocol.
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // Does something, as chance has it. It may wait, for a short time.
  virtual void act() = 0;
  // The run ends: whoever sends has everything arrive, and goes then. True while somebody has not.
  virtual bool stop_sending() = 0;
  // Takes what has come. True if there was something, or more is to come.
  virtual bool take_all() = 0;
};

class Book {
 public:
  Book() = default;
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;
  virtual ~Book() = default;

  virtual std::unique_ptr<Part> come(Manager& manager) = 0;
  // All have gone.
  virtual void check() = 0;
};

// One line for each file.
std::unique_ptr<Book> make_datagrams(Stage& stage);
std::unique_ptr<Book> make_streams(Stage& stage);
std::unique_ptr<Book> make_tagged_writes(Stage& stage);
std::unique_ptr<Book> make_loans(Stage& stage);
std::unique_ptr<Book> make_multicasts(Stage& stage);
std::unique_ptr<Book> make_bulk(Stage& stage);
std::unique_ptr<Book> make_mapped_slots(Stage& stage);
std::unique_ptr<Book> make_segments(Stage& stage);
std::unique_ptr<Book> make_sure_swaps(Stage& stage);
std::unique_ptr<Book> make_records(Stage& stage);
std::unique_ptr<Book> make_scattered_writes(Stage& stage);
std::unique_ptr<Book> make_fast_rows(Stage& stage);

}  // namespace hamlyn::simulation
