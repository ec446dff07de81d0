// A file service where packets are lost, late and repeated, links are cut, and the server dies: what a clerk
// says is what the tree is.
#include <algorithm>
#include <map>
#include <set>

#include "files/area_reader.h"
#include "files/clerk.h"
#include "files/service.h"
#include "hamlyn/rpc.h"
#include "test/files/memory_store.h"
#include "test/rpc/seeds.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using namespace internal_::files;

constexpr Caller kRoot{};
constexpr Caller kUser{.user = 1000, .group = 1000};

std::vector<std::uint32_t> groups_of(std::uint32_t user) {
  return user == 1000 ? std::vector<std::uint32_t>{1000, 7} : std::vector<std::uint32_t>{user};
}

// Serves until nobody has asked for so long.
void serve(Store& store, std::uint64_t epoch, const AreaSizes& sizes = {16, 16, 4, 8, 8},
           std::chrono::nanoseconds idle = 2s) {
  Interface interface;
  const AreasHeader header = lay_out(sizes, epoch, 4711 + epoch);
  Segment segment(interface, {.bytes = bytes_of(header),
                              .sharing = Sharing::mapped_read_only,
                              .protection = {.mode = 0400},
                              .control = Control::never});
  AreaWriter areas(segment, header);
  Service service(store, areas, segment.ticket(), groups_of);
  rpc::Server<Service> server(interface, "tree", service);
  while (server.serve_one(idle) == Status::ok) {
  }
}

std::string read_all(Clerk& clerk, const Handle& file, const Caller& caller = kRoot) {
  std::string out(200'000, ' ');
  const auto done = clerk.read(caller, file, 0, std::as_writable_bytes(std::span(out)));
  out.resize(done ? done.value : 0);
  return out;
}

TEST(HostedFiles, are_found_without_the_server_once_they_were_asked_for) {
  Hosted hosted;
  MemoryStore store;
  const auto folder = store.make_directory(kRoot, store.root(), "folder", 0755).value.handle;
  const auto file = store.create(kRoot, folder, "file", 0644, true).value.handle;
  const std::string text(150'000, 'x');
  store.write(kRoot, file, 0, std::as_bytes(std::span(text)));
  store.make_symbolic_link(kRoot, folder, "link", "file");
  hosted.add([&](Hosted&) { serve(store, 1, {16, 16, 4, 8, 8}, 100ms); });
  hosted.add([&](Hosted& all) {
    Interface interface;
    Clerk clerk(interface, "tree", {});
    const auto look = [&] {
      all.expect(clerk.look_up(kRoot, clerk.root(), "folder").value.handle == folder, "the folder");
      all.expect(clerk.look_up(kRoot, folder, "file").value.attributes.size == text.size(), "the file");
      all.expect(clerk.look_up(kRoot, folder, "none").fault == Fault::no_entry, "a name that is none");
      all.expect(read_all(clerk, file) == text, "its data");
      const auto link = clerk.look_up(kRoot, folder, "link");
      all.expect(clerk.read_link(link.value.handle).value == "file", "a link");
      std::set<std::string> names;
      const auto whole = clerk.list(kRoot, folder, 0, [&](const Name& name) {
        names.emplace(name.text);
        return true;
      });
      all.expect(whole && whole.value && names == std::set<std::string>{"file", "link"}, "the names");
    };
    look();
    const auto before = clerk.counts();
    look();
    all.expect(clerk.counts().asked == before.asked, "nothing is asked for twice");
    all.expect(clerk.counts().found > before.found, "it was found in the areas");
    Clerk other(interface, "tree", {});
    all.expect(read_all(other, file) == text && other.counts().asked == 0,
               "another clerk finds it there, too");
  });
  hosted.run();
}

TEST(HostedFiles, judge_their_callers_at_each_look) {
  Hosted hosted;
  MemoryStore store;
  const auto own = store.make_directory(kRoot, store.root(), "own", 0700).value.handle;
  const auto secret = store.create(kRoot, own, "secret", 0600, true).value.handle;
  const auto shared = store.create(kRoot, store.root(), "shared", 0640, true).value.handle;
  store.write(kRoot, secret, 0, bytes_of("secret"));
  store.write(kRoot, shared, 0, bytes_of("shared"));
  hosted.add([&](Hosted&) { serve(store, 1, {16, 16, 4, 8, 8}, 100ms); });
  hosted.add([&](Hosted& all) {
    Interface interface;
    Clerk clerk(interface, "tree", {});
    all.expect(clerk.look_up(kRoot, own, "secret") && read_all(clerk, secret) == "secret", "the owner's");
    for (int look = 0; look != 2; ++look) {
      all.expect(clerk.look_up(kUser, own, "secret").fault == Fault::access_denied, "a folder's search");
      all.expect(clerk.list(kUser, own, 0, [](const Name&) { return true; }).fault == Fault::access_denied,
                 "a folder's names");
      std::byte byte{};
      all.expect(clerk.read(kUser, secret, 0, {&byte, 1}).fault == Fault::access_denied, "a file's data");
      all.expect(clerk.read(kUser, shared, 0, {&byte, 1}).fault == Fault::access_denied, "and another's");
    }
    all.expect(clerk.change(kRoot, shared, {.group = 7}).fault == Fault::none, "a group is given");
    all.expect(read_all(clerk, shared, kUser) == "shared", "who is in it reads");
    all.expect(clerk.change(kRoot, shared, {.mode = 0600}).fault == Fault::none, "and taken away");
    all.expect(read_all(clerk, shared, kUser).empty(), "at once");
  });
  hosted.run();
}

// --- whatever several clerks do by turns, each sees what the tree is

struct Turns {
  explicit Turns(std::uint64_t seed) : chance(seed) {}
  // Has one clerk do something, and sees whether it saw what is there.
  void step(Hosted& all, Clerk& clerk, MemoryStore& store);

  sim::Generator chance;
  std::vector<Handle> folders, others;
};

std::string name_of(std::uint64_t number) { return "n" + std::to_string(number); }

void Turns::step(Hosted& all, Clerk& clerk, MemoryStore& store) {
  const Handle folder = folders[chance.below(folders.size())];
  const std::string name = name_of(chance.below(6));
  const Caller& caller = chance.below(3) == 0 ? kUser : kRoot;
  const Handle file = others.empty() ? folder : others[chance.below(others.size())];
  const auto same = [&](bool is, const char* what) { all.expect(is, what); };
  switch (chance.below(12)) {
    case 0: {
      const auto made =
          clerk.create(caller, folder, name, 0600 + 044 * static_cast<std::uint32_t>(chance.below(2)), false);
      if (made && made.value.attributes.kind == Kind::file) others.push_back(made.value.handle);
      break;
    }
    case 1: {
      const auto made = clerk.make_directory(caller, folder, name,
                                             0700 + 077 * static_cast<std::uint32_t>(chance.below(2)));
      if (made) folders.push_back(made.value.handle);
      break;
    }
    case 2:
      static_cast<void>(clerk.remove(caller, folder, name));
      break;
    case 3:
      static_cast<void>(clerk.remove_directory(caller, folder, name));
      break;
    case 4:
      static_cast<void>(clerk.rename(caller, folder, name, folders[chance.below(folders.size())],
                                     name_of(chance.below(6)), static_cast<Renaming>(chance.below(3))));
      break;
    case 5: {
      const std::string data(chance.below(40'000), static_cast<char>('a' + chance.below(26)));
      static_cast<void>(clerk.write(caller, file, chance.below(140'000), std::as_bytes(std::span(data))));
      break;
    }
    case 6: {
      const std::string data(1 + chance.below(70'000), static_cast<char>('A' + chance.below(26)));
      static_cast<void>(clerk.append(caller, file, std::as_bytes(std::span(data))));
      break;
    }
    case 7:
      static_cast<void>(clerk.change(caller, file, {.size = chance.below(140'000)}));
      break;
    case 8: {
      const auto seen = clerk.look_up(caller, folder, name);
      const auto is = store.look_up({caller.user, caller.user, caller.groups}, folder, name);
      same(seen.fault == is.fault && seen.value.handle == is.value.handle &&
               seen.value.attributes == is.value.attributes,
           "a look-up sees what is there");
      break;
    }
    case 9: {
      const auto seen = clerk.attributes(file), is = store.attributes(file);
      same(seen.fault == is.fault && seen.value == is.value, "attributes are those of now");
      break;
    }
    case 10: {
      std::vector<std::byte> seen(1 + chance.below(150'000)), is(seen.size());
      const std::uint64_t at = chance.below(150'000);
      const auto read = clerk.read(caller, file, at, seen), there = store.read(caller, file, at, is);
      same(read.fault == there.fault && read.value == there.value && seen == is, "data is that of now");
      break;
    }
    default: {
      std::vector<std::string> seen, is;
      const auto note = [](std::vector<std::string>& to) {
        return [&to](const Name& each) { return to.emplace_back(each.text), true; };
      };
      const auto listed = clerk.list(caller, folder, 0, note(seen)),
                 there = store.list(caller, folder, 0, note(is));
      same(listed.fault == there.fault && seen == is, "names are those of now");
      break;
    }
  }
}

TEST(HostedFiles, show_each_clerk_by_turns_what_the_tree_is) {
  for_each_seed(kRoughSeeds / 2, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    MemoryStore store;
    Turns turns(seed);
    turns.folders.push_back(store.root());
    std::uint64_t turn = 0, steps = 0;
    hosted.add([&](Hosted&) {
      serve(store, seed, {1 + seed % 4, 1 + seed % 3, 1, 1 + seed % 2, 1 + seed % 3});
    });
    for (std::uint64_t who = 0; who != 3; ++who) {
      hosted.add([&, who](Hosted& all) {
        Interface interface;
        Clerk clerk(interface, "tree", {});
        while (steps < 150 && all.alive()) {
          if (turn != who) {
            all.host.pause(20'000);
            continue;
          }
          ++steps;
          turns.step(all, clerk, store);
          turn = turns.chance.below(3);
        }
      });
    }
    hosted.run();
  });
}

// --- at the same time: a read that begins after a write has returned sees it

TEST(HostedFiles, show_what_was_written_to_whoever_reads_afterwards) {
  for_each_seed(kRoughSeeds / 2, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    MemoryStore store;
    constexpr std::size_t kBytes = 5000;
    const auto file = store.create(kRoot, store.root(), "file", 0644, true).value.handle;
    store.write(kRoot, file, 0, std::vector<std::byte>(kBytes));
    std::uint8_t begun = 0, done = 0;
    hosted.add([&](Hosted&) { serve(store, seed); });
    hosted.add([&](Hosted& all) {
      Interface interface;
      Clerk clerk(interface, "tree", {});
      while (done != 30 && all.alive()) {
        ++begun;
        const std::vector<std::byte> data(kBytes, std::byte{begun});
        all.expect(clerk.write(kRoot, file, 0, data).value == kBytes, "a write");
        done = begun;
        all.host.pause(seed % 50'000);
      }
    });
    for (int reader = 0; reader != 2; ++reader) {
      hosted.add([&](Hosted& all) {
        Interface interface;
        Clerk clerk(interface, "tree", {});
        std::vector<std::byte> data(kBytes);
        while (done != 30 && all.alive()) {
          const std::uint8_t before = done;
          all.expect(clerk.read(kRoot, file, 0, data).value == kBytes, "a read");
          for (std::size_t at = 0; at < kBytes; at += 61)
            all.expect(data[at] >= std::byte{before} && data[at] <= std::byte{begun},
                       "what was written, or is being");
          all.host.pause(20'000);  // a read of one's own host takes no time
        }
      });
    }
    hosted.run();
  });
}

// --- several threads of the server, as one thread that does something in the middle of something else

struct Server {
  // Does something with any of a few names and files. Names are changed by no two threads at a time.
  void act(bool names);

  sim::Generator chance;
  Service& service;
  std::vector<Handle> folders, files;
};

void Server::act(bool names) {
  const Handle &folder = folders[chance.below(2)], &other = folders[chance.below(2)];
  const std::string name = name_of(chance.below(3)), new_name = name_of(chance.below(3));
  const Handle file = files.empty()
                          ? folder
                          : files[files.size() - 1 - chance.below(std::min<std::uint64_t>(files.size(), 4))];
  const std::string data(1 + chance.below(9'000), static_cast<char>('a' + chance.below(26)));
  switch (chance.below(names ? 12 : 8)) {
    case 0:
      static_cast<void>(service.write(0, file, chance.below(100'000), std::as_bytes(std::span(data))));
      break;
    case 1:
      static_cast<void>(service.append(0, file, std::as_bytes(std::span(data))));
      break;
    case 2:
      static_cast<void>(service.change(0, file, wanted({.size = chance.below(100'000)})));
      break;
    case 3:
      static_cast<void>(service.folder(0, folder, 0));
      break;
    case 4:
      static_cast<void>(service.attributes(file));
      break;
    case 5:
      static_cast<void>(service.load(0, file, chance.below(2)));
      break;
    case 6:
    case 7: {
      const FoundAnswer seen = service.look_up(0, folder, name);
      if (seen.fault == Fault::none) files.push_back(seen.found.handle);
      break;
    }
    case 8:
      static_cast<void>(service.create(0, folder, name, 0644, false));
      break;
    case 9:
      static_cast<void>(service.remove(0, folder, name));
      break;
    case 10:
      static_cast<void>(
          service.rename(0, folder, name, other, new_name, static_cast<Renaming>(chance.below(3))));
      break;
    default:
      static_cast<void>(service.link(0, file, folder, name));
  }
}

// When nothing is under way, the areas have what is there, or nothing.
void expect_true(Hosted& all, AreaReader& areas, MemoryStore& store, const std::vector<Handle>& folders) {
  for (const Handle& folder : folders) {
    Attributes seen;
    if (areas.attributes(folder, seen, 1s) == Status::ok)
      all.expect(seen == store.attributes(folder).value, "a folder's attributes");
    for (std::uint64_t number = 0; number != 3; ++number) {
      Handle file;
      const auto is = store.look_up(kRoot, folder, name_of(number));
      if (areas.look_up(folder, name_of(number), file, 1s) == Status::ok)
        all.expect(file == is.value.handle, "a name");
      if (is.fault != Fault::none) continue;
      if (areas.attributes(is.value.handle, seen, 1s) == Status::ok)
        all.expect(seen == is.value.attributes, "a file's attributes");
      std::vector<std::byte> data(kBlock), there(kBlock);
      std::size_t done = 0;
      for (std::uint64_t block = 0; block != 2; ++block)
        if (areas.data({is.value.handle, block}, 0, data, done, 1s) == Status::ok)
          all.expect(
              done == store.read(kRoot, is.value.handle, block * kBlock, there).value &&
                  std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(done), there.begin()),
              "a file's data");
    }
    FolderRecord record;
    std::vector<std::string> names, are;
    if (areas.folder({folder, 0}, record, 1s) != Status::ok) continue;
    Name name;
    for (std::size_t at = 0; take(record, at, name);) names.emplace_back(name.text);
    store.list(kRoot, folder, 0, [&](const Name& each) { return are.emplace_back(each.text), true; });
    all.expect(names == are, "a folder's names");
  }
}

TEST(HostedFiles, leave_in_the_areas_what_is_there_whatever_comes_between) {
  for_each_seed(20, [](std::uint64_t seed) {
    Hosted hosted;
    hosted.add([seed](Hosted& all) {
      Interface interface;
      MemoryStore store;
      const Handle folder = store.make_directory(kRoot, store.root(), "f", 0755).value.handle;
      const AreasHeader header = lay_out({64, 64, 4, 16, 32}, 1, seed);
      Segment segment(interface, {.bytes = bytes_of(header), .sharing = Sharing::mapped_read_only});
      AreaWriter areas(segment, header);
      Service service(store, areas, segment.ticket(), groups_of);
      Import import(interface, segment.ticket(), {.access = Access::read_only});
      AreaReader reader(import, 1s);
      Server server{sim::Generator(seed), service, {store.root(), folder}, {}};
      for (int step = 0; step != 300 && all.alive(); ++step) {
        const bool names = server.chance.below(2) != 0;  // one of the two changes names
        store.between = [&] {
          if (server.chance.below(3) == 0) server.act(!names);
        };
        server.act(names);
        store.between = nullptr;
        expect_true(all, reader, store, server.folders);
      }
    });
    hosted.run();
  });
}

// --- a server that dies and comes again

TEST(HostedFiles, go_on_with_a_server_that_was_started_again) {
  for_each_seed(kRoughSeeds / 2, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    simulation::Host& host = hosted.host;
    MemoryStore store;
    const auto file = store.create(kRoot, store.root(), "file", 0644, true).value.handle;
    bool over = false;
    hosted.add([&](Hosted&) { serve(store, 1); });
    host.after(3 * kMillisecond + host.chance().below(5 * kMillisecond),
               [&host] { host.kill(*host.inhabitants().front()); });
    host.after(10 * kMillisecond, [&] { host.come([&](simulation::Inhabitant&) { serve(store, 2); }); });
    hosted.add([&](Hosted& all) {
      Interface interface;
      Clerk clerk(interface, "tree", {});
      std::uint64_t acked = 0, unknown = 0;
      for (std::uint64_t i = 0; i != 60; ++i) {
        const std::byte byte{1};
        const auto appended = clerk.append(kRoot, file, {&byte, 1});
        all.expect(appended || appended.fault == Fault::unknown, "a change is done, or not known");
        if (appended)
          ++acked;
        else
          ++unknown;
        const auto size = clerk.attributes(file);
        all.expect(size && size.value.size >= acked && size.value.size <= acked + unknown,
                   "nothing that was answered is lost or done twice");
        all.host.pause(200'000);
      }
      all.expect(unknown <= 1, "one change may have been under way");
      over = true;
    });
    hosted.run();
    EXPECT_TRUE(over);
  });
}

}  // namespace
}  // namespace hamlyn::test
