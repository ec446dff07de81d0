#include "test/memory/views.h"

#include <cstring>

namespace hamlyn::test {

namespace {
// In a view, the place of a task's own plain loads.
constexpr std::size_t loads_of(std::size_t task) { return ~task; }
}  // namespace

void View::add_to(std::string& key) const {
  add_number(key, seen_.size());
  for (const auto& [place, number] : seen_) {
    add_number(key, place);
    add_number(key, number);
  }
}

Views::History Views::history(Word word) const {
  const auto found = words_.find(word.at);
  if (found != words_.end()) return *found->second;
  History fresh;
  fresh.bytes = word.bytes;
  fresh.stores.emplace_back();
  std::memcpy(&fresh.stores.front().value, memory_.data() + word.at, word.bytes);
  return fresh;
}

Views::History& Views::change(Word word) {
  auto changed = std::make_shared<History>(history(word));
  const auto behind = words_.upper_bound(word.at);
  const bool torn = changed->bytes != word.bytes ||
                    (behind != words_.end() && behind->first < word.at + word.bytes) ||
                    (behind != words_.begin() && std::prev(behind)->first != word.at &&
                     std::prev(behind)->first + std::prev(behind)->second->bytes > word.at);
  if (torn) wrong_ = "a word is accessed in pieces, which this machine does not know";
  words_[word.at] = changed;
  return *changed;
}

std::vector<std::uint64_t> Views::values(std::size_t task, Word word) const {
  const History history = this->history(word);
  std::vector<std::uint64_t> values;
  for (std::size_t i = tasks_[task].now.of(word.at); i < history.stores.size(); ++i)
    values.push_back(history.stores[i].value);
  return values;
}

void Views::loaded(std::size_t task, Word word, Order order, std::size_t which) {
  TaskViews& views = tasks_[task];
  const auto number = static_cast<std::uint32_t>(views.now.of(word.at) + which);
  if (order == Order::plain) {
    History& history = change(word);
    if (number + 1 != history.stores.size() || views.now.of(word.at) != number)
      wrong_ = "read while it may be written";
    views.now.raise(loads_of(task), views.now.of(loads_of(task)) + 1);
    history.plain_loads[task] = views.now.of(loads_of(task));
    return;
  }
  const View found = history(word).stores[number].view;
  views.now.raise(word.at, number);
  views.read.join(found);
  if (order == Order::ordered) views.now.join(found);
}

void Views::append(std::size_t task, Word word, std::uint64_t value, View view) {
  History& history = change(word);
  const auto number = static_cast<std::uint32_t>(history.stores.size());
  tasks_[task].now.raise(word.at, number);
  view.raise(word.at, number);
  history.stores.push_back({value, std::move(view)});
}

void Views::store(std::size_t task, Word word, std::uint64_t value, Order order) {
  const TaskViews& views = tasks_[task];
  const History before = history(word);
  if (order == Order::plain && views.now.of(word.at) + 1 != before.stores.size())
    wrong_ = "written while it may be written";
  for (const auto& [reader, load] : before.plain_loads) {
    if (reader != task && views.now.of(loads_of(reader)) < load) wrong_ = "written while it may be read";
  }
  append(task, word, value, order == Order::ordered ? views.now : views.released);
}

bool Views::take(std::size_t task, Word word) {
  const Stored newest = history(word).stores.back();
  if (newest.value != 0) return false;
  tasks_[task].now.join(newest.view);
  append(task, word, 1, newest.view);
  return true;
}

void Views::fence(std::size_t task) {
  TaskViews& views = tasks_[task];
  views.now.join(views.read);
  views.now.join(fences_);
  fences_ = views.released = views.now;
}

void Views::light_fence(std::size_t task) {
  TaskViews& views = tasks_[task];
  light_.join(views.read);
  light_.join(views.now);
  views.now.join(heavy_);
}

void Views::heavy_fence(std::size_t task) {
  tasks_[task].now.join(light_);
  fence(task);
  heavy_.join(tasks_[task].now);
}

void Views::add_to(std::string& key) const {
  for (const auto& [at, history] : words_) {
    add_number(key, at);
    add_number(key, history->stores.size());
    for (const Stored& stored : history->stores) {
      add_number(key, stored.value);
      stored.view.add_to(key);
    }
    add_number(key, history->plain_loads.size());
    for (const auto& [task, load] : history->plain_loads) add_number(key, task << 32 | load);
  }
  for (const TaskViews& views : tasks_) {
    views.now.add_to(key);
    views.released.add_to(key);
    views.read.add_to(key);
  }
  fences_.add_to(key);
  light_.add_to(key);
  heavy_.add_to(key);
}

}  // namespace hamlyn::test
