#include "test/chaos/cast.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "test/chaos/roles.h"

namespace hamlyn::chaos {
namespace {

struct Role {
  const char* name;
  int (*play)(Stage&);
  const char* sends_to = nullptr;  // the role; the last that was given it
};

// A stream and a loan have one sender; the others several.
constexpr std::array kRoles{
    Role{"fast receiver", receive_fast},
    Role{"fast", send_fast, "fast receiver"},
    Role{"counted receiver", receive_counted},
    Role{"counted", send_counted, "counted receiver"},
    Role{"stream receiver", receive_stream},
    Role{"stream", send_stream, "stream receiver"},
    Role{"scribbler", scribble, ""},
    Role{"counted", send_counted, "counted receiver"},
    Role{"datagram receiver", receive_datagrams},
    Role{"datagram", send_datagrams, "datagram receiver"},
    Role{"datagram", send_datagrams, "datagram receiver"},
    Role{"tagged receiver", receive_tagged},
    Role{"tagged", send_tagged, "tagged receiver"},
    Role{"multicast", send_to_many, "counted receiver"},
    Role{"borrower", borrow},
    Role{"lender", lend, "borrower"},
    Role{"fetched from", be_fetched_from},
    Role{"fetcher", fetch, "fetched from"},
    Role{"fetcher", fetch, "fetched from"},
    Role{"exporter", export_segment},
    Role{"importer", write_segment, "exporter"},
    Role{"importer", write_segment, "exporter"},
    Role{"names", use_names, ""},
    Role{"scribbler", scribble, ""},
    Role{"fast", send_fast, "fast receiver"},
    Role{"tagged", send_tagged, "tagged receiver"},
};

constexpr std::size_t kMostToMany = 6;
constexpr int kFirstUser = 41001;

// Some of each kind live from the beginning to the end.
bool steady(std::size_t seat) { return seat % 4 == 3; }

}  // namespace

std::vector<Part> make_cast(std::uint32_t processes, bool users) {
  std::vector<Part> cast{
      {"bystander", ask, {1}, false, false, false},
      {"bystander", answer, {0}, false, false, false},
  };
  std::map<std::string_view, std::vector<std::uint32_t>> seats;
  for (std::uint32_t seat = 2; seat < std::min(processes, kSeats); ++seat) {
    const Role& role = kRoles[(seat - 2) % kRoles.size()];
    Part part{role.name, role.play, {}, role.sends_to != nullptr, !steady(seat)};
    const auto receivers = role.sends_to == nullptr ? seats.end() : seats.find(role.sends_to);
    if (receivers != seats.end()) {
      part.partners.push_back(receivers->second.back());
      if (role.play == &send_to_many)
        part.partners.assign(receivers->second.end() -
                                 static_cast<std::ptrdiff_t>(std::min(kMostToMany, receivers->second.size())),
                             receivers->second.end());
    }
    seats[role.name].push_back(seat);
    cast.push_back(part);
  }
  if (users) {
    for (std::size_t seat = 0; seat < cast.size(); ++seat)
      cast[seat].user = kFirstUser + static_cast<int>(seat % 3);
  }
  return cast;
}

}  // namespace hamlyn::chaos
