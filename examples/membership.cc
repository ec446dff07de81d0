// Shows the nodes of this host's cluster, and then every change, until a node has gone: what a program does
// that has partners on other hosts, and wants to know before it next talks to them whether they are there,
// and whether they are still those that it knew.
//
//   membership              the daemon of this host: the service, or the user's own
//   membership SOCKET       another one
#include <hamlyn/core/membership.h>
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <map>

#include "check.h"

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  using hamlyn::Membership;
  try {
    Membership members({.node = argc > 1 ? argv[1] : ""});
    // Starts of each partner's node that we have to do with. Whatever belonged to an earlier one is
    // over.
    std::map<unsigned, std::uint64_t> known;
    for (const Membership::Node& node : members.nodes()) {
      known[node.id] = node.incarnation;
      std::printf("node %u: %s\n", node.id, hamlyn::name(node.state));
    }
    if (const int failed = written(0); failed != 0) return failed;

    Membership::Event event;
    while (members.wait(event, 1h) == hamlyn::Status::ok) {
      const unsigned id = event.node.id;
      std::printf("node %u: %s\n", id, hamlyn::name(event.change));
      switch (event.change) {
        case Membership::Change::came:
        case Membership::Change::returned:
          if (known.contains(id) && known[id] != event.node.incarnation)
            std::printf("node %u is another than before: names have to be looked up again\n", id);
          known[id] = event.node.incarnation;
          break;
        case Membership::Change::died:
        case Membership::Change::left:
          return written(0);
        case Membership::Change::daemon_gone:  // it is looked for while we wait
        case Membership::Change::renewed:
        case Membership::Change::suspected:  // it may only be slow: nothing has ended
        case Membership::Change::cleared:
        case Membership::Change::missed:
          break;
      }
      if (const int failed = written(0); failed != 0) return failed;
    }
    return 1;
  } catch (const hamlyn::Error& error) {
    std::fprintf(stderr, "%s: %s\n", hamlyn::name(error.code()), error.what());
    return 1;
  }
}
