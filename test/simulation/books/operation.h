#pragma once
// One kind of thing that the processes of a run do: send a message, fetch and add, fill a group. Each kind is
// a file that keeps its own books of what must happen, and is named in operations.cc. To add a kind, write
// such a file and one line there.
//
// Everything that an operation decides comes from World::chance(); what it sees it tells by World::note().
#include "hamlyn/values/notification.h"
#include "test/simulation/books/coverage.h"

namespace hamlyn::simulation {

class Process;

class Operation {
 public:
  virtual ~Operation() = default;

  // `process` has come: makes the slots and whatever else it needs there.
  virtual void come(Process& process) = 0;
  // `process` starts one of them, if it can.
  virtual void start(Process& process) = 0;
  // `process` goes on with those it has begun or received: arms entries, takes results.
  virtual void step(Process&) {}
  // The run ends: what would hold up others is given up, what was lost is asked for. True while there is
  // something to do.
  virtual bool end(Process&) { return false; }
  // `process` has just done something.
  virtual void check(Process&) {}
  // A message or a failure at a slot that this operation made. Throws Violation if it should not be.
  virtual void notified(Process& process, const Notification& notification) = 0;

  // From now on, what `from` has sent to `to` may be lost: a link was cut, a process died, a link was
  // refused.
  virtual void may_lose(Process& from, Process& to) = 0;
  // No link between the two is left at either end: nothing more of what `from` had sent will come to `to`.
  virtual void link_over(Process& from, Process& to) = 0;

  // Adds the kinds of what `from` has begun with `to` and is not over.
  virtual void under_way(const Process& from, const Process& to, Kinds& kinds) const = 0;

  // Everything has come to rest: what was begun is over, one way or another.
  virtual void check_rest() = 0;
};

}  // namespace hamlyn::simulation
