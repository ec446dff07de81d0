// A tree that one process serves and others use, on one node and on two, while the server is killed and
// started again.
#include "hamlyn/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <thread>

#include "hamlyn/segment/segment.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using hamlyn::files::Fault;
using hamlyn::files::Kind;
using hamlyn::files::Tree;

class Files : public OnNodes {
 protected:
  Files() { fs::create_directory(tree_); }

  files::ServerOptions how() const { return {.state = folder_.file("state"), .trusted_network = true}; }
  // A process that serves the tree until it is killed, and says when it does.
  Actor served(Interface::Options options, files::ServerOptions how) {
    return Actor([this, options, how](Line& line) {
      Interface interface(options);
      files::Server server(interface, tree_, "tree", how);
      line.put(true);
      std::thread beside([&] { EXPECT_EQ(server.run(), Status::ok); });
      EXPECT_EQ(server.run(), Status::ok);
      beside.join();
      return 0;
    });
  }
  // Runs `work` in a process of its own beside a server.
  void with_tree(const std::function<void(Interface& interface, Tree& tree)>& work) {
    Actor server = served(options(), how());
    ASSERT_TRUE(server.line().take<bool>());
    in_child([&] {
      Interface interface(other_options());
      Tree tree(interface, "tree", {.timeout = kPatience});
      work(interface, tree);
    });
  }

  const std::string tree_ = folder_.file("tree");
};

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string all_of(Tree& tree, std::string_view path) {
  auto file = tree.open(path);
  if (!file) return std::string("fault ") + name(file.fault);
  std::string out;
  std::vector<std::byte> piece(100'000);
  for (;;) {
    const auto got = file.value.read(piece);
    if (!got) return std::string("fault ") + name(got.fault);
    out.append(reinterpret_cast<const char*>(piece.data()), got.value);
    if (got.value != piece.size()) return out;
  }
}

Fault put(Tree& tree, std::string_view path, std::string_view text) {
  auto file = tree.open(path, {.write = true, .create = true, .truncate = true});
  if (!file) return file.fault;
  return file.value.write(bytes(text)).fault;
}

TEST_F(Files, are_made_read_changed_and_removed) {
  with_tree([this](Interface&, Tree& tree) {
    EXPECT_EQ(tree.make_directory("notes"), Fault::none);
    EXPECT_EQ(put(tree, "notes/today", "first\n"), Fault::none);
    EXPECT_EQ(all_of(tree, "notes/today"), "first\n");
    EXPECT_EQ(all_of(tree, "/notes//./today"), "first\n");
    {
      auto file = tree.open("notes/today", {.write = true, .append = true});
      ASSERT_TRUE(file);
      EXPECT_EQ(file.value.write(bytes("second\n")).value, 7u);
      EXPECT_EQ(file.value.sync(), Fault::none);
      EXPECT_EQ(file.value.attributes().value.size, 13u);
    }
    EXPECT_EQ(all_of(tree, "notes/today"), "first\nsecond\n");
    std::string large(1'000'000, ' ');
    std::minstd_rand random(1);
    for (char& each : large) each = static_cast<char>(random());
    EXPECT_EQ(put(tree, "large", large), Fault::none);
    EXPECT_TRUE(all_of(tree, "large") == large);
    EXPECT_EQ(fs::file_size(tree_ + "/large"), large.size()) << "it stands in the directory";
    EXPECT_EQ(tree.make_symbolic_link("notes/today", "link"), Fault::none);
    EXPECT_EQ(tree.read_link("link").value, "notes/today");
    EXPECT_EQ(all_of(tree, "link"), "first\nsecond\n");
    EXPECT_EQ(tree.attributes("link", false).value.kind, Kind::symbolic_link);
    EXPECT_EQ(tree.link("notes/today", "second name"), Fault::none);
    EXPECT_EQ(tree.attributes("notes/today").value.links, 2u);
    EXPECT_EQ(tree.rename("second name", "notes/moved"), Fault::none);
    std::vector<std::string> names;
    for (const files::DirectoryEntry& each : tree.list("notes").value) names.push_back(each.name);
    EXPECT_EQ(names, (std::vector<std::string>{"moved", "today"}));
    const auto changed = tree.change("large", {.mode = 0600, .size = 70'000});
    EXPECT_EQ(changed.value.mode, 0600u);
    EXPECT_TRUE(all_of(tree, "large") == large.substr(0, 70'000));
    EXPECT_EQ(tree.remove("notes"), Fault::is_a_directory);
    EXPECT_EQ(tree.remove_directory("notes"), Fault::not_empty);
    EXPECT_EQ(tree.remove("notes/today"), Fault::none);
    EXPECT_EQ(tree.remove("notes/moved"), Fault::none);
    EXPECT_EQ(tree.remove_directory("notes"), Fault::none);
    EXPECT_EQ(tree.attributes("notes").fault, Fault::no_entry);
    EXPECT_GT(tree.room().value.blocks, 0u);
  });
}

TEST_F(Files, of_many_names_are_listed_in_pieces) {
  with_tree([this](Interface&, Tree& tree) {
    constexpr std::size_t kNames = 700;
    for (std::size_t i = 0; i != kNames; ++i) fs::create_directory(tree_ + "/name " + std::to_string(i));
    EXPECT_EQ(tree.list("").value.size(), kNames);
    const auto before = tree.counts();
    EXPECT_EQ(tree.list("").value.size(), kNames);
    EXPECT_EQ(tree.counts().asked, before.asked) << "it was found in the areas";
    std::size_t seen = 0;
    std::uint64_t cookie = 0;
    while (true) {
      std::size_t now = 0;
      const auto whole = tree.list("", cookie, [&](const files::DirectoryEntry& entry) {
        if (now == 100) return false;
        cookie = entry.cookie;
        return ++now, true;
      });
      ASSERT_TRUE(whole);
      seen += now;
      if (whole.value) break;
    }
    EXPECT_EQ(seen, kNames) << "a list goes on behind a cookie";
  });
}

TEST_F(Files, outside_of_the_tree_are_not_reached) {
  with_tree([this](Interface&, Tree& tree) {
    fs::create_symlink("/etc/passwd", tree_ + "/absolute");
    fs::create_symlink("../state/key", tree_ + "/above");
    fs::create_directory(tree_ + "/folder");
    fs::create_symlink("../folder/../absolute", tree_ + "/folder/inside");
    fs::create_symlink("circle", tree_ + "/circle");
    for (const char* const path :
         {"absolute", "above", "..", "../tree", "folder/../../state", "folder/inside"})
      EXPECT_EQ(tree.open(path).fault, Fault::cross_device) << path;
    EXPECT_EQ(tree.open("circle").fault, Fault::too_many_symlinks);
    EXPECT_EQ(tree.open(std::string(5000, 'a')).fault, Fault::name_too_long);
    EXPECT_EQ(tree.open("folder/" + std::string(300, 'a')).fault, Fault::name_too_long);
    EXPECT_EQ(tree.open(std::string_view("a\0b", 3)).fault, Fault::invalid);
    EXPECT_EQ(tree.open("folder").fault, Fault::is_a_directory);
    EXPECT_EQ(tree.remove("folder/.."), Fault::invalid);
    EXPECT_EQ(tree.make_directory(""), Fault::invalid);
    EXPECT_EQ(tree.open("none", {.read = false}).fault, Fault::invalid);
  });
}

TEST_F(Files, go_on_when_the_server_was_killed_and_started_again) {
  std::optional<Actor> server(served(options(), how()));
  ASSERT_TRUE(server->line().take<bool>());
  Actor client([this](Line& line) {
    Interface interface(other_options());
    Tree tree(interface, "tree", {.timeout = kPatience});
    EXPECT_EQ(put(tree, "file", "text"), Fault::none);
    auto file = tree.open("file", {.write = true});
    line.put(true);
    line.take<bool>();
    std::string text(4, ' ');
    EXPECT_EQ(file.value.read_at(0, std::as_writable_bytes(std::span(text))).value, 4u);
    EXPECT_EQ(text, "text");
    EXPECT_EQ(file.value.write_at(4, bytes(" and more")).value, 9u);
    EXPECT_EQ(all_of(tree, "file"), "text and more");
    return HasFailure() ? 1 : 0;
  });
  ASSERT_TRUE(client.line().take<bool>());
  server.reset();
  server.emplace(served(options(), how()));
  ASSERT_TRUE(server->line().take<bool>());
  client.line().put(true);
  EXPECT_EQ(client.wait(), 0);
}

TEST_F(Files, without_a_server_are_told_so_in_time) {
  std::optional<Actor> server(served(options(), how()));
  ASSERT_TRUE(server->line().take<bool>());
  Actor client([this](Line& line) {
    Interface interface(other_options());
    Tree tree(interface, "tree", {.time = 100ms});
    line.put(true);
    line.take<bool>();
    EXPECT_EQ(put(tree, "file", "text"), Fault::no_server);
    EXPECT_THROW(Tree(interface, "tree", {.timeout = 50ms}), Error);
    return HasFailure() ? 1 : 0;
  });
  ASSERT_TRUE(client.line().take<bool>());
  server.reset();
  client.line().put(true);
  EXPECT_EQ(client.wait(), 0);
}

TEST_F(Files, are_served_once) {
  with_tree([this](Interface& interface, Tree&) {
    const auto code = [&](const std::string& directory, files::ServerOptions options) {
      try {
        files::Server server(interface, directory, "second", options);
        return ErrorCode{};
      } catch (const Error& error) {
        return error.code();
      }
    };
    files::ServerOptions open = how();
    EXPECT_EQ(code(tree_, open), ErrorCode::invalid_argument) << "the same directory";
    EXPECT_EQ(code(tree_ + "/none", open), ErrorCode::system);
    EXPECT_EQ(code("/proc", open), ErrorCode::invalid_argument) << "a file system without handles";
    const std::string other = folder_.file("other");
    fs::create_directory(other);
    open.data = 1000;
    EXPECT_EQ(code(other, open), ErrorCode::invalid_argument);
    open = how();
    fs::permissions(folder_.file("state"), fs::perms{0755});
    EXPECT_EQ(code(other, open), ErrorCode::not_permitted) << "others may read the key";
    fs::permissions(folder_.file("state"), fs::perms{0700});
  });
}

// --- between users

constexpr int kAnna = 12345, kBert = 12346;

#define NEEDS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: other users can only be tried as root"

TEST(FilesOfUsers, are_their_own) {
  NEEDS_ROOT();
  const Folder folder{0755};
  const std::string socket = folder.file("s"), tree = folder.file("tree");
  fs::create_directory(tree);
  ASSERT_EQ(chown(tree.c_str(), kAnna, kAnna), 0);
  fs::create_directory(folder.file("state"));
  ASSERT_EQ(chown(folder.file("state").c_str(), kAnna, kAnna), 0);
  fs::permissions(folder.file("state"), fs::perms{0700});
  Daemon daemon{socket, {"--service"}};
  const Interface::Options options{.node = socket, .start_node = false};
  Actor server(
      [&](Line& line) {
        Interface interface(options);
        files::Server own(interface, tree, "annas", {.state = folder.file("state")});
        line.put(true);
        return own.run() == Status::ok ? 0 : 1;
      },
      kAnna);
  ASSERT_TRUE(server.line().take<bool>());
  const auto code_of = [&](Line&) {
    try {
      Interface interface(options);
      Tree opened(interface, "annas", {.timeout = kPatience});
      return put(opened, "file", "x") == Fault::none ? 0 : 1;
    } catch (const Error& error) {
      return failed_with(error.code());
    }
  };
  EXPECT_EQ(Actor(code_of, kAnna).wait(), 0);
  EXPECT_EQ(Actor(code_of, kBert).wait(), failed_with(ErrorCode::not_permitted));
  EXPECT_EQ(Actor(code_of).wait(), failed_with(ErrorCode::not_permitted)) << "root does not believe a user";
}

TEST(FilesOfUsers, are_changed_by_a_server_that_is_not_the_superusers) {
  NEEDS_ROOT();
  const Folder folder{0755};
  const std::string socket = folder.file("s"), tree_folder = folder.file("tree");
  for (const std::string& each : {tree_folder, folder.file("state")}) {
    fs::create_directory(each);
    ASSERT_EQ(chown(each.c_str(), kAnna, kAnna), 0);
    fs::permissions(each, fs::perms{0700});
  }
  Daemon daemon{socket, {"--service"}};
  const Interface::Options options{.node = socket, .start_node = false};
  Actor server(
      [&](Line& line) {
        Interface interface(options);
        files::Server own(interface, tree_folder, "annas", {.state = folder.file("state")});
        line.put(true);
        return own.run() == Status::ok ? 0 : 1;
      },
      kAnna);
  ASSERT_TRUE(server.line().take<bool>());
  Actor client(
      [&](Line&) {
        Interface interface(options);
        Tree tree(interface, "annas", {.timeout = kPatience});
        EXPECT_EQ(put(tree, "f", "text"), Fault::none);
        EXPECT_EQ(tree.link("f", "g"), Fault::none);
        EXPECT_EQ(tree.attributes("g").value.links, 2u);
        EXPECT_EQ(tree.remove("f"), Fault::none);
        EXPECT_EQ(tree.attributes("g").value.links, 1u) << "what was removed is not in the areas";
        auto open = tree.open("g");
        std::byte byte{};
        EXPECT_EQ(open.value.read_at(0, {&byte, 1}).value, 1u);
        EXPECT_EQ(put(tree, "h", "other"), Fault::none);
        EXPECT_EQ(tree.rename("h", "g"), Fault::none);
        EXPECT_EQ(open.value.read_at(0, {&byte, 1}).fault, Fault::stale) << "another file took its place";
        EXPECT_EQ(all_of(tree, "g"), "other");
        EXPECT_EQ(tree.make_directory("a"), Fault::none);
        EXPECT_EQ(put(tree, "a/in", "inside"), Fault::none);
        auto inside = tree.open("a/in");
        EXPECT_EQ(tree.rename("a", "b"), Fault::none);
        EXPECT_EQ(inside.value.read_at(0, {&byte, 1}).value, 1u) << "its folder was moved";
        EXPECT_EQ(all_of(tree, "b/in"), "inside");
        return testing::Test::HasFailure() ? 1 : 0;
      },
      kAnna);
  EXPECT_EQ(client.wait(), 0);
}

TEST(FilesOfUsers, are_not_believed_of_a_stranger_who_took_the_name) {
  NEEDS_ROOT();
  const Folder folder{0755};
  const std::string socket = folder.file("s"), tree = folder.file("tree");
  fs::create_directory(tree);
  ASSERT_EQ(chown(tree.c_str(), kBert, kBert), 0);
  fs::create_directory(folder.file("state"));
  ASSERT_EQ(chown(folder.file("state").c_str(), kBert, kBert), 0);
  fs::permissions(folder.file("state"), fs::perms{0700});
  Daemon daemon{socket, {"--service"}};
  const Interface::Options options{.node = socket, .start_node = false};
  Actor stranger(
      [&](Line& line) {
        Interface interface(options);
        files::Server own(interface, tree, "tree", {.state = folder.file("state")});
        line.put(true);
        return own.run() == Status::ok ? 0 : 1;
      },
      kBert);
  ASSERT_TRUE(stranger.line().take<bool>());
  const auto opens = [&](Line&) {
    try {
      Interface interface(options);
      Tree opened(interface, "tree", {.timeout = kPatience});
      return 0;
    } catch (const Error& error) {
      return failed_with(error.code());
    }
  };
  EXPECT_EQ(Actor(opens).wait(), failed_with(ErrorCode::not_permitted)) << "root believes root alone";
}

}  // namespace
}  // namespace hamlyn::test
