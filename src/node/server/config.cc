#include "node/server/config.h"

#include <grp.h>
#include <pwd.h>
#include <toml++/toml.h>

#include <array>
#include <fstream>
#include <iterator>

#include "hamlyn/values/error.h"

namespace hamlyn::node {
namespace {

class Reader {
 public:
  Reader(const std::string& path, Config& out) : path_(path), out_(out) {}

  void read(const toml::table& file) {
    read_sections(file);
    const Quotas total = times(out_.quotas, kTotal);
    for (const auto amount : {&Quotas::interfaces, &Quotas::links, &Quotas::bytes, &Quotas::names}) {
      if (said_.*amount == kUnsaid) said_.*amount = total.*amount;
    }
    out_.total = said_;
  }

 private:
  static constexpr std::uint64_t kUnsaid = ~std::uint64_t{};  // no amount in a file is as much

  void read_sections(const toml::table& file) {
    for (const auto& [key, value] : file) {
      const std::string section(key.str());
      const toml::table* table = value.as_table();
      if (section != "quotas" && section != "total" && section != "rights" && section != "links" &&
          section != "errors" && section != "log" && section != "cluster") {
        fail(key.source(), section,
             "unknown; there are [quotas], [total], [rights], [links], [errors], [cluster] and [log]");
      }
      if (table == nullptr) fail(key.source(), section, "must be a table: write [" + section + "]");
      for (const auto& [inner, entry] : *table)
        read_entry(inner, section + "." + std::string(inner.str()), entry);
      if (section == "cluster" && out_.cluster.id == 0)
        fail(key.source(), "cluster.id", "is missing: a number of 1 to 65535 that no other node has");
    }
  }

  [[noreturn]] void fail(const toml::source_region& where, const std::string& key,
                         const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                path_ + ":" + std::to_string(where.begin.line) + ": " + key + ": " + what);
  }

  void read_entry(const toml::key& key, const std::string& name, const toml::node& value) {
    if (name.starts_with("quotas."))
      amount(key, name, out_.quotas) = quota(name, value);
    else if (name.starts_with("total."))
      amount(key, name, said_) = quota(name, value);
    else if (name == "rights.users")
      out_.rights.users = ids(name, value, user_id);
    else if (name == "rights.groups")
      out_.rights.groups = ids(name, value, group_id);
    else if (name == "links.users")
      out_.links.users = ids(name, value, user_id);
    else if (name == "links.groups")
      out_.links.groups = ids(name, value, group_id);
    else if (name == "errors.cut_after")
      out_.cut_after = quota(name, value);
    else if (name == "log.level")
      out_.log_level = level(name, value);
    else if (name == "cluster.id")
      out_.cluster.id = static_cast<std::uint16_t>(number(name, value, 1, 65535));
    else if (name == "cluster.dead_after")
      out_.cluster.dead_after = Time{number(name, value, 100, 60000)};
    else if (name == "cluster.clerk_after")
      out_.cluster.clerk_after = static_cast<std::uint32_t>(number(name, value, 0, 1'000'000));
    else if (name == "cluster.clerk_user")
      out_.cluster.clerk_user = text(name, value);
    else if (name == "cluster.engine")
      out_.cluster.engine = engine(name, value);
    else if (name == "cluster.listen")
      out_.cluster.listen = text(name, value);
    else if (name == "cluster.secret")
      out_.cluster.secret = text(name, value);
    else if (name == "cluster.join")
      out_.cluster.join = texts(name, value);
    else if (name == "cluster.boot")
      out_.cluster.boot = truth(name, value);
    else
      fail(key.source(), name, "unknown key");
    if (name.starts_with("rights.")) out_.rights.everyone = false;
    if (name.starts_with("links.")) out_.links.everyone = false;
  }

  std::uint64_t& amount(const toml::key& key, const std::string& name, Quotas& of) const {
    if (key == "interfaces") return of.interfaces;
    if (key == "links") return of.links;
    if (key == "bytes") return of.bytes;
    if (key == "names") return of.names;
    fail(key.source(), name, "unknown key");
  }

  std::uint64_t quota(const std::string& name, const toml::node& value) const {
    const auto number = value.value_exact<std::int64_t>();
    if (!number || *number < 0) fail(value.source(), name, "must be a number of at least 0");
    return static_cast<std::uint64_t>(*number);
  }

  std::int64_t number(const std::string& name, const toml::node& value, std::int64_t least,
                      std::int64_t most) const {
    const auto number = value.value_exact<std::int64_t>();
    if (number && *number >= least && *number <= most) return *number;
    fail(value.source(), name,
         "must be a number of " + std::to_string(least) + " to " + std::to_string(most));
  }

  std::string text(const std::string& name, const toml::node& value) const {
    const auto text = value.value_exact<std::string>();
    if (text && !text->empty()) return *text;
    fail(value.source(), name, "must be a text");
  }

  std::vector<std::string> texts(const std::string& name, const toml::node& value) const {
    const toml::array* list = value.as_array();
    if (list == nullptr) return {text(name, value)};
    std::vector<std::string> out;
    for (const toml::node& one : *list) out.push_back(text(name, one));
    return out;
  }

  bool truth(const std::string& name, const toml::node& value) const {
    if (const auto truth = value.value_exact<bool>()) return *truth;
    fail(value.source(), name, "must be true or false");
  }

  std::string level(const std::string& name, const toml::node& value) const {
    const auto text = value.value_exact<std::string>();
    for (const char* known : {"trace", "debug", "info", "warn", "error", "off"}) {
      if (text == known) return *text;
    }
    fail(value.source(), name, "must be \"trace\", \"debug\", \"info\", \"warn\", \"error\" or \"off\"");
  }

  std::string engine(const std::string& name, const toml::node& value) const {
    const auto text = value.value_exact<std::string>();
    for (const char* known : {"efa", "net", "tcp", "verbs;ofi_rxm", "tcp;ofi_rxm"}) {
      if (text == known) return *text;
    }
    fail(value.source(), name,
         R"(must be "efa", "net", "tcp", "verbs;ofi_rxm" or "tcp;ofi_rxm", as libfabric has it)");
  }

  std::vector<std::uint32_t> ids(const std::string& name, const toml::node& value,
                                 bool (*named)(const std::string&, std::uint32_t&)) const {
    const toml::array* list = value.as_array();
    if (list == nullptr) fail(value.source(), name, "must be a list of names or numbers");
    std::vector<std::uint32_t> out;
    for (const toml::node& one : *list) {
      std::uint32_t id = 0;
      if (const auto number = one.value_exact<std::int64_t>()) {
        if (*number < 0 || *number > 0xFFFFFFFE)
          fail(one.source(), name, "no such number: " + std::to_string(*number));
        id = static_cast<std::uint32_t>(*number);
      } else if (const auto text = one.value_exact<std::string>()) {
        if (!named(*text, id)) fail(one.source(), name, "this system does not know \"" + *text + "\"");
      } else {
        fail(one.source(), name, "must be a list of names or numbers");
      }
      out.push_back(id);
    }
    return out;
  }

  static bool user_id(const std::string& name, std::uint32_t& id) {
    std::array<char, 16384> memory{};
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found) != 0 || found == nullptr)
      return false;
    id = found->pw_uid;
    return true;
  }

  static bool group_id(const std::string& name, std::uint32_t& id) {
    std::array<char, 65536> memory{};
    group entry{};
    group* found = nullptr;
    if (::getgrnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found) != 0 || found == nullptr)
      return false;
    id = found->gr_gid;
    return true;
  }

  const std::string& path_;
  Config& out_;
  Quotas said_{kUnsaid, kUnsaid, kUnsaid, kUnsaid};  // of [total]
};

}  // namespace

Config parse_config(const std::string& text, const std::string& path) {
  try {
    Config out;
    Reader{path, out}.read(toml::parse(text, path));
    return out;
  } catch (const toml::parse_error& wrong) {
    throw Error(ErrorCode::invalid_argument, path + ":" + std::to_string(wrong.source().begin.line) + ": " +
                                                 std::string(wrong.description()));
  }
}

Config read_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::invalid_argument, path + ": cannot be read");
  return parse_config({std::istreambuf_iterator<char>(file), {}}, path);
}

}  // namespace hamlyn::node
