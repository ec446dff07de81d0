// A directory as a store: what its handles open, whose rights are asked, and what is refused.
#include "files/local_store.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "files/clerk.h"
#include "files/service.h"
#include "hamlyn/rpc.h"
#include "hamlyn/values/error.h"
#include "test/simulation/hosted.h"

namespace hamlyn::internal_::files {
namespace {

namespace fs = std::filesystem;

constexpr base::SipHash::Key kKey = {17, 42};
constexpr Caller kRoot{};

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/hamlyn-files-XXXXXX";
    if (mkdtemp(name) == nullptr) std::abort();
    path_ = name;
    fs::permissions(path_, fs::perms{0755});
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(std::string_view name) const { return path_ / name; }
  std::string path() const { return path_; }

 private:
  fs::path path_;
};

void write_file(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }

class LocalStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: other users can only be tried as root";
    umask(0);
    store.emplace(folder.path(), kKey);
  }
  Handle at(std::string_view name) const {
    const auto found = store->look_up(kRoot, store->root(), name);
    EXPECT_TRUE(found) << name << " " << static_cast<int>(found.fault);
    return found.value.handle;
  }
  std::string text_of(const Handle& file, const Caller& caller = kRoot) const {
    std::string out(100, ' ');
    const auto done = store->read(caller, file, 0, std::as_writable_bytes(std::span(out)));
    EXPECT_TRUE(done) << static_cast<int>(done.fault);
    out.resize(done.value);
    return out;
  }
  std::vector<std::string> names(const Handle& of) const {
    std::vector<std::string> out;
    const auto done = store->list(kRoot, of, 0, [&](const Name& each) {
      out.emplace_back(each.text);
      return true;
    });
    EXPECT_TRUE(done && done.value);
    std::ranges::sort(out);
    return out;
  }

  Folder folder;
  mutable std::optional<LocalStore> store;
};

TEST_F(LocalStoreTest, keeps_a_handle_whatever_the_file_is_called) {
  write_file(folder / "one", "what stands in it");
  fs::create_directory(folder / "below");
  const Handle file = at("one");
  EXPECT_EQ(text_of(file), "what stands in it");
  EXPECT_EQ(store->rename(kRoot, store->root(), "one", at("below"), "two", Renaming::replaces), Fault::none);
  EXPECT_EQ(text_of(file), "what stands in it");
  EXPECT_EQ(store->look_up(kRoot, store->root(), "one").fault, Fault::no_entry);
  EXPECT_EQ(store->look_up(kRoot, at("below"), "two").value.handle, file);
  const Handle root = store->root();
  store.reset();
  EXPECT_EQ(LocalStore(folder.path(), kKey).root(), root) << "and whoever serves it";
}

TEST_F(LocalStoreTest, has_a_stale_handle_once_the_file_has_gone) {
  write_file(folder / "one", "first");
  const auto found = store->look_up(kRoot, store->root(), "one");
  EXPECT_EQ(store->remove(kRoot, store->root(), "one"), Fault::none);
  EXPECT_EQ(store->attributes(found.value.handle).fault, Fault::stale);
  // Some file systems give the number to the next file.
  for (int i = 0; i != 20; ++i) write_file(folder / ("next" + std::to_string(i)), "another");
  EXPECT_EQ(store->attributes(found.value.handle).fault, Fault::stale);
}

TEST_F(LocalStoreTest, opens_no_handle_that_it_has_not_given) {
  write_file(folder / "one", "inside");
  const Handle good = at("one");
  for (std::size_t bit = 0; bit != 8 * sizeof good; ++bit) {
    Handle turned = good;
    reinterpret_cast<std::byte*>(&turned)[bit / 8] ^= std::byte{1} << bit % 8;
    // Bits behind the handle's length are no part of it for the kernel, and the seal covers them.
    ASSERT_EQ(store->attributes(turned).fault, Fault::stale) << bit;
  }
  EXPECT_EQ(store->attributes({}).fault, Fault::stale);
  Folder elsewhere;
  write_file(elsewhere / "two", "outside");
  LocalStore other(elsewhere.path(), {17, 43});
  const Handle outside = other.look_up(kRoot, other.root(), "two").value.handle;
  EXPECT_EQ(store->attributes(outside).fault, Fault::stale) << "another tree, another key";
}

TEST_F(LocalStoreTest, refuses_what_is_no_name) {
  const std::string long_name(256, 'x');
  const std::map<std::string, Fault> wrong = {{"", Fault::invalid},
                                              {".", Fault::invalid},
                                              {"..", Fault::invalid},
                                              {"a/b", Fault::invalid},
                                              {"/", Fault::invalid},
                                              {std::string("a\0b", 3), Fault::invalid},
                                              {long_name, Fault::name_too_long}};
  const Handle root = store->root();
  write_file(folder / "one", "");
  for (const auto& [name, fault] : wrong) {
    EXPECT_EQ(store->look_up(kRoot, root, name).fault, fault);
    EXPECT_EQ(store->create(kRoot, root, name, 0600, false).fault, fault);
    EXPECT_EQ(store->make_directory(kRoot, root, name, 0700).fault, fault);
    EXPECT_EQ(store->make_symbolic_link(kRoot, root, name, "x").fault, fault);
    EXPECT_EQ(store->link(kRoot, at("one"), root, name).fault, fault);
    EXPECT_EQ(store->remove(kRoot, root, name), fault);
    EXPECT_EQ(store->remove_directory(kRoot, root, name), fault);
    EXPECT_EQ(store->rename(kRoot, root, "one", root, name, Renaming::replaces), fault);
    EXPECT_EQ(store->rename(kRoot, root, name, root, "two", Renaming::replaces), fault);
  }
  EXPECT_EQ(names(root), std::vector<std::string>{"one"});
}

TEST_F(LocalStoreTest, follows_no_symbolic_link) {
  Folder elsewhere;
  write_file(elsewhere / "secret", "outside");
  const auto link = store->make_symbolic_link(kRoot, store->root(), "out", elsewhere.path());
  ASSERT_TRUE(link);
  EXPECT_EQ(link.value.attributes.kind, Kind::symbolic_link);
  EXPECT_EQ(store->read_link(link.value.handle).value, elsewhere.path());
  EXPECT_EQ(store->look_up(kRoot, link.value.handle, "secret").fault, Fault::not_a_directory);
  EXPECT_EQ(store->create(kRoot, link.value.handle, "new", 0600, true).fault, Fault::not_a_directory);
  const auto to_file =
      store->make_symbolic_link(kRoot, store->root(), "file", (elsewhere / "secret").string());
  std::array<std::byte, 10> data{};
  EXPECT_EQ(store->read(kRoot, to_file.value.handle, 0, data).fault, Fault::invalid);
  EXPECT_EQ(store->write(kRoot, to_file.value.handle, 0, data).fault, Fault::invalid);
  EXPECT_EQ(store->change(kRoot, to_file.value.handle, {.size = 0}).fault, Fault::invalid);
  EXPECT_EQ(store->create(kRoot, store->root(), "file", 0600, false).value.attributes.kind,
            Kind::symbolic_link)
      << "what is there is given as it is";
  EXPECT_EQ(store->read_link(at("out")).value, elsewhere.path());
  EXPECT_EQ(store->read_link(store->root()).fault, Fault::invalid);
}

TEST_F(LocalStoreTest, opens_nothing_but_files) {
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0666), 0);
  const Handle pipe = at("pipe");
  std::array<std::byte, 1> data{};
  EXPECT_EQ(store->read(kRoot, pipe, 0, data).fault, Fault::invalid) << "it would wait for a writer";
  EXPECT_EQ(store->write(kRoot, pipe, 0, data).fault, Fault::invalid);
  EXPECT_EQ(store->sync(pipe), Fault::invalid);
  EXPECT_EQ(store->read(kRoot, store->root(), 0, data).fault, Fault::is_a_directory);
  EXPECT_EQ(store->sync(store->root()), Fault::none);
}

TEST_F(LocalStoreTest, goes_on_with_a_list_behind_any_name) {
  std::set<std::string> wanted, all;
  for (int i = 0; i != 300; ++i) {
    wanted.insert("name" + std::to_string(i));
    write_file(folder / *wanted.rbegin(), "");
    write_file(folder / ("name" + std::to_string(i)), "");
  }
  std::uint64_t cookie = 0;
  for (bool over = false; !over;) {
    int left = 7;
    const auto done = store->list(kRoot, store->root(), cookie, [&](const Name& each) {
      EXPECT_TRUE(all.emplace(each.text).second) << each.text << " was there already";
      cookie = each.cookie;
      return --left != 0;
    });
    ASSERT_TRUE(done);
    over = done.value;
  }
  EXPECT_EQ(all, wanted);
  EXPECT_EQ(store->list(kRoot, at("name1"), 0, [](const Name&) { return true; }).fault,
            Fault::not_a_directory);
}

TEST_F(LocalStoreTest, sets_what_is_asked_for_and_nothing_else) {
  write_file(folder / "one", "0123456789");
  const Handle file = at("one");
  const Moment moment{.seconds = 1'000'000'000, .nanoseconds = 123'456'789};
  const auto before = store->attributes(file).value;
  const auto times = store->change(kRoot, file, {.written = Changes::Time{false, moment}});
  EXPECT_EQ(times.value.written, moment);
  EXPECT_EQ(times.value.read, before.read);
  EXPECT_EQ(store->change(kRoot, file, {.size = 4}).value.size, 4u);
  EXPECT_EQ(text_of(file), "0123");
  const auto owner = store->change(kRoot, file, {.mode = 06755, .owner = 1000});
  EXPECT_EQ(owner.value.owner, 1000u);
  EXPECT_EQ(owner.value.group, before.group);
  EXPECT_EQ(owner.value.mode, 06755u) << "the mode is set behind the owner";
  const Caller user{1000, 1000, {}}, other{1001, 1001, {}};
  EXPECT_EQ(store->change(other, file, {.mode = 0777}).fault, Fault::not_permitted);
  EXPECT_EQ(store->change(user, file, {.owner = 0}).fault, Fault::not_permitted);
  EXPECT_EQ(store->change(other, file, {.written = Changes::Time{false, moment}}).fault,
            Fault::not_permitted);
  EXPECT_EQ(store->change(user, file, {.mode = 0777}).value.mode, 0777u);
}

TEST_F(LocalStoreTest, keeps_the_rules_of_set_id_and_sticky) {
  const Caller user{1000, 1000, {}}, other{1001, 1001, {}};
  write_file(folder / "tool", "x");
  const Handle tool = at("tool");
  ASSERT_TRUE(store->change(kRoot, tool, {.mode = 04777, .owner = 1000}));
  EXPECT_TRUE(store->write(other, tool, 0, bytes("y")));
  EXPECT_EQ(store->attributes(tool).value.mode, 0777u) << "another's write takes set-user-id away";
  const auto shared = store->make_directory(kRoot, store->root(), "shared", 02777);
  ASSERT_TRUE(store->change(kRoot, shared.value.handle, {.mode = 02777, .group = 55}));
  EXPECT_EQ(store->create(user, shared.value.handle, "new", 0644, true).value.attributes.group, 55u);
  const auto sticky = store->make_directory(kRoot, store->root(), "sticky", 01777);
  ASSERT_TRUE(store->create(user, sticky.value.handle, "mine", 0666, true));
  EXPECT_EQ(store->remove(other, sticky.value.handle, "mine"), Fault::not_permitted);
  EXPECT_EQ(store->remove(user, sticky.value.handle, "mine"), Fault::none);
}

TEST_F(LocalStoreTest, writes_as_whoever_has_made_the_file_whatever_its_mode) {
  const Caller user{1000, 1000, {}}, other{1001, 1001, {}};
  ASSERT_TRUE(store->change(kRoot, store->root(), {.mode = 0777}));
  const auto made = store->create(user, store->root(), "shut", 0400, true);
  ASSERT_TRUE(made);
  EXPECT_EQ(made.value.attributes.owner, 1000u);
  EXPECT_EQ(store->write(user, made.value.handle, 0, bytes("mine")).value, 4u);
  EXPECT_EQ(text_of(made.value.handle, user), "mine");
  EXPECT_EQ(store->write(other, made.value.handle, 0, bytes("its")).fault, Fault::access_denied);
  std::array<std::byte, 4> data{};
  EXPECT_EQ(store->read(other, made.value.handle, 0, data).fault, Fault::access_denied);
  EXPECT_EQ(store->create(user, store->root(), "shut", 0400, true).fault, Fault::exists);
  EXPECT_EQ(store->create(user, store->root(), "shut", 0400, false).value.handle, made.value.handle);
}

TEST_F(LocalStoreTest, asks_a_callers_groups) {
  fs::create_directory(folder / "group");
  const Handle group = at("group");
  ASSERT_TRUE(store->change(kRoot, group, {.mode = 0070, .group = 77}));
  const std::array<std::uint32_t, 2> groups = {5, 77};
  EXPECT_TRUE(store->create({1000, 1000, groups}, group, "one", 0600, true));
  EXPECT_EQ(store->create({1000, 1000, {}}, group, "two", 0600, true).fault, Fault::access_denied);
  EXPECT_EQ(store->look_up({1000, 1000, {}}, group, "one").fault, Fault::access_denied);
  EXPECT_TRUE(store->look_up({1000, 77, {}}, group, "one"));
}

TEST_F(LocalStoreTest, renames_as_it_is_told) {
  write_file(folder / "one", "1");
  write_file(folder / "two", "2");
  const Handle root = store->root(), one = at("one"), two = at("two");
  EXPECT_EQ(store->rename(kRoot, root, "one", root, "two", Renaming::refuses), Fault::exists);
  EXPECT_EQ(store->rename(kRoot, root, "one", root, "two", Renaming::exchanges), Fault::none);
  EXPECT_EQ(at("one"), two);
  EXPECT_EQ(store->rename(kRoot, root, "one", root, "two", Renaming::replaces), Fault::none);
  EXPECT_EQ(at("two"), two);
  EXPECT_EQ(store->attributes(one).fault, Fault::stale);
  fs::create_directory(folder / "folder");
  write_file(folder / "folder" / "in", "");
  EXPECT_EQ(store->remove_directory(kRoot, root, "folder"), Fault::not_empty);
  EXPECT_EQ(store->remove(kRoot, root, "folder"), Fault::is_a_directory);
  EXPECT_EQ(store->remove_directory(kRoot, root, "two"), Fault::not_a_directory);
}

TEST_F(LocalStoreTest, does_not_serve_what_it_cannot) {
  EXPECT_THROW(LocalStore((folder / "missing").string(), kKey), hamlyn::Error);
  write_file(folder / "file", "");
  EXPECT_THROW(LocalStore((folder / "file").string(), kKey), hamlyn::Error);
  EXPECT_THROW(LocalStore("/proc", kKey), hamlyn::Error) << "it has no handles";
}

// --- rights, beside the kernel's

// Users that share some groups, and one who shares none.
const std::array<std::uint32_t, 2> kGroups = {50, 51};
const std::array kUsers = {Caller{1000, 50, {}}, Caller{1001, 51, std::span(kGroups).first(1)},
                           Caller{1002, 60, kGroups}, Caller{1003, 70, {}}};

// Does `act` as that user in a child, which the kernel judges. Returns its answer, an errno.
int as_kernel(const Caller& caller, const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    static_assert(sizeof(gid_t) == sizeof(std::uint32_t));
    if (setgroups(caller.groups.size(), caller.groups.data()) != 0 ||
        setresgid(caller.group, caller.group, caller.group) != 0 ||
        setresuid(caller.user, caller.user, caller.user) != 0)
      _exit(255);
    _exit(act() == 0 ? 0 : errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int opened(int file) {
  if (file < 0) return -1;
  close(file);
  return 0;
}

// The kernel's judgement of a path, and ours of its last name in its folder.
TEST_F(LocalStoreTest, lets_nobody_do_what_the_kernel_does_not) {
  std::mt19937 random{std::random_device{}()};
  const auto one_of = [&](std::size_t count) { return random() % count; };
  for (int round = 0; round != 60; ++round) {
    const std::string name = "d" + std::to_string(round);
    const fs::path inside = folder / name / "file";
    fs::create_directory(folder / name);
    write_file(inside, "x");
    const auto own = [&](const fs::path& path, unsigned mode) {
      ASSERT_EQ(chown(path.c_str(), static_cast<uid_t>(1000 + one_of(4)), static_cast<gid_t>(50 + one_of(3))),
                0);
      ASSERT_EQ(chmod(path.c_str(), mode), 0);
    };
    own(inside, random() & 0777u);
    own(folder / name, (random() & 0777u) | (one_of(4) == 0 ? 01000u : 0u));
    const Handle there = at(name);
    const Caller& caller = kUsers[one_of(kUsers.size())];
    const auto file = store->look_up(kRoot, there, "file");
    const bool owner = file.value.attributes.owner == caller.user;
    struct stat kept {};
    const auto check = [&](const char* what, const std::function<int()>& kernel, Fault ours) {
      EXPECT_EQ(fault_of(as_kernel(caller, kernel)), ours)
          << what << " by " << caller.user << " round " << round;
    };
    check(
        "look_up", [&] { return lstat(inside.c_str(), &kept); }, store->look_up(caller, there, "file").fault);
    check(
        "list", [&] { return opened(open((folder / name).c_str(), O_RDONLY | O_DIRECTORY)); },
        store->list(caller, there, 0, [](const Name&) { return true; }).fault);
    // A clerk reaches a file by its handle only behind a look-up: so searched the folder is.
    if (store->look_up(caller, there, "file") && !owner) {
      std::array<std::byte, 1> byte{};
      check(
          "read", [&] { return opened(open(inside.c_str(), O_RDONLY)); },
          store->read(caller, file.value.handle, 0, byte).fault);
      check(
          "write", [&] { return opened(open(inside.c_str(), O_WRONLY)); },
          store->write(caller, file.value.handle, 0, byte).fault);
      check(
          "chmod", [&] { return chmod(inside.c_str(), 0640); },
          store->change(caller, file.value.handle, {.mode = 0640}).fault);
    }
    const fs::path made = folder / name / "made";
    const Fault created = store->create(caller, there, "made", 0600, true).fault;
    fs::remove(made);
    check(
        "create", [&] { return opened(open(made.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600)); }, created);
    fs::remove(made);
    const fs::path spare = folder / name / "spare";
    fs::create_hard_link(inside, spare);
    const Fault ours = store->remove(caller, there, "spare");
    if (ours == Fault::none) fs::create_hard_link(inside, spare);
    check(
        "remove", [&] { return unlink(spare.c_str()); }, ours);
  }
}

// --- a clerk's judgement of what it finds in the areas, beside the kernel's of the tree

std::vector<std::uint32_t> groups_of(std::uint32_t user) {
  for (const Caller& each : kUsers) {
    if (each.user != user) continue;
    std::vector<std::uint32_t> out{each.group};
    out.insert(out.end(), each.groups.begin(), each.groups.end());
    return out;
  }
  return {0};
}

TEST_F(LocalStoreTest, is_judged_by_a_clerk_as_by_the_kernel) {
  std::mt19937 random{std::random_device{}()};
  const auto one_of = [&](std::size_t count) { return random() % count; };
  const auto own = [&](const fs::path& path, unsigned mode) {
    ASSERT_EQ(chown(path.c_str(), static_cast<uid_t>(1000 + one_of(4)), static_cast<gid_t>(50 + one_of(3))),
              0);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  };
  constexpr std::size_t kFolders = 40;
  std::vector<Handle> folders, files;
  for (std::size_t i = 0; i != kFolders; ++i) {
    const fs::path inside = folder / ("d" + std::to_string(i));
    fs::create_directory(inside);
    write_file(inside / "file", "text");
    own(inside / "file", random() & 0777u);
    own(inside, random() & 0777u);
    folders.push_back(at("d" + std::to_string(i)));
    files.push_back(store->look_up(kRoot, folders.back(), "file").value.handle);
  }
  test::Hosted hosted;
  hosted.add([&](test::Hosted&) {
    Interface interface;
    const AreasHeader header = lay_out({64, 64, 4, 64, 64}, 1, 2);
    Segment segment(
        interface,
        {.bytes = bytes_of(header), .sharing = Sharing::mapped_read_only, .protection = {.mode = 0400}});
    AreaWriter areas(segment, header);
    Service service(*store, areas, segment.ticket(), groups_of);
    hamlyn::rpc::Server<Service> server(interface, "tree", service);
    while (server.serve_one(std::chrono::seconds(2)) == Status::ok) {
    }
  });
  hosted.add([&](test::Hosted& all) {
    Interface interface;
    Clerk clerk(interface, "tree", {});
    const auto any = [](const Name&) { return true; };
    for (int round = 0; round != 10'000; ++round) {
      const Caller& caller = kUsers[one_of(kUsers.size())];
      const std::size_t which = one_of(kFolders);
      std::array<std::byte, 4> seen{}, is{};
      switch (one_of(3)) {
        case 0: {
          const char* const name = one_of(2) == 0 ? "file" : "none";
          all.expect(clerk.look_up({.user = caller.user}, folders[which], name).fault ==
                         store->look_up(caller, folders[which], name).fault,
                     "a look-up");
          break;
        }
        case 1:
          all.expect(clerk.list({.user = caller.user}, folders[which], 0, any).fault ==
                         store->list(caller, folders[which], 0, any).fault,
                     "a list");
          break;
        default:
          all.expect(clerk.read({.user = caller.user}, files[which], 0, seen).fault ==
                             store->read(caller, files[which], 0, is).fault &&
                         seen == is,
                     "a read");
      }
    }
    all.expect(clerk.counts().asked < 1000, "nearly all was found in the areas");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::internal_::files
