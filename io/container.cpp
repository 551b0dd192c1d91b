#include "io/container.hpp"

#include <algorithm>

namespace pacewise {
namespace {

constexpr std::string_view kDataNames[] = {"X", "fea", "data", "features", "x", "X_train", "x_train", "arr_0"};
constexpr std::string_view kLabelNames[] = {"Y",      "y",      "gnd",     "labels",  "label",
                                            "Labels", "target", "targets", "y_train", "Y_train"};

/// "group/name" -> name
std::string_view leaf(std::string_view name) { return name.substr(name.rfind('/') + 1); }

bool is_label_name(std::string_view name) {
  return std::find(std::begin(kLabelNames), std::end(kLabelNames), leaf(name)) != std::end(kLabelNames);
}

/// Turns the array so that its samples are as many as the labels, and says so. False: the labels do not fit.
bool fit_to_labels(Variable& data, const Entry& entry, const Variable& values, const std::string& label_name,
                   std::vector<std::string>& notes) {
  const std::vector<Index>& shape = values.array.shape;
  const Index labels = values.is_text  ? static_cast<Index>(values.text.size())
                       : values.sparse ? values.sparse->rows * values.sparse->cols
                                       : values.array.count();
  const bool vector = values.is_text || (!shape.empty() && *std::max_element(shape.begin(), shape.end()) == labels);
  const Index rows = data.sparse ? data.sparse->cols : data.array.shape.front();
  const Index cols = data.sparse ? data.sparse->rows : data.array.shape.back();
  if (vector && rows == labels) return true;
  if (!vector || cols != labels || (!data.sparse && data.array.shape.size() < 2)) {
    notes.push_back(line_of(label_name, " has ", labels, " values for ", rows, " samples of ", entry.name,
                            ": it is not used as labels"));
    return false;
  }
  if (data.sparse) data.sparse = transpose(*data.sparse);
  data.array.samples_last = true;
  notes.push_back(line_of(entry.name, " is ", rows, " x ", cols, " and ", label_name, " has ", labels,
                          " values: the samples are its columns, it is transposed"));
  return true;
}

}  // namespace

/// A variable of this name that can be loaded.
const Entry* Container::find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name && e.loadable; });
  return found == entries_.end() ? nullptr : &*found;
}

/// "a (3 x 4), b (10 x 1)", at most ten of them
std::string Container::listing() const {
  std::string text;
  for (std::size_t e = 0; e < entries_.size(); ++e) {
    if (e == 10) return line_of(text, " and ", entries_.size() - 10, " more");
    const Entry& entry = entries_[e];
    text += (e == 0 ? "" : ", ") + printable(entry.name, 40);
    if (!entry.loadable || !entry.shape.empty())
      text += " (" + (entry.loadable ? shape_text(entry.shape) : entry.what) + ")";
  }
  return text.empty() ? "nothing" : text;
}

const Entry& Container::named() const {
  const std::string_view wanted = std::string_view(reading_.variable).substr(reading_.variable[0] == '/' ? 1 : 0);
  for (const Entry& entry : entries_)
    if (entry.name == wanted && !entry.loadable)
      reading_.fail(entry.name, line_of("is ", entry.what, "; name a numeric ", kind_));
  if (const Entry* entry = find(wanted)) return *entry;
  reading_.fail("", line_of("has no ", kind_, " \"", printable(reading_.variable), "\"; it holds ", listing()));
}

const Entry& Container::choose_data() const {
  if (!reading_.variable.empty()) return named();
  for (const std::string_view name : kDataNames)
    if (const Entry* entry = find(name); entry != nullptr && !entry->is_text) return *entry;
  std::vector<const Entry*> candidates;
  for (const Entry& entry : entries_)
    if (entry.loadable && !entry.is_text && !is_label_name(entry.name)) candidates.push_back(&entry);
  if (candidates.size() == 1) return *candidates[0];
  reading_.fail("", line_of("which ", kind_, " holds the data? It has ", listing(), "; name one as file:NAME"));
}

/// The labels that belong to `data`: same group; x_test goes with y_test.
const Entry* Container::labels_of(const Entry& data) const {
  const std::string group = data.name.substr(0, data.name.size() - leaf(data.name).size());
  std::vector<std::string> names;
  const std::string own(leaf(data.name));
  if (own.size() > 1 && (own[0] == 'x' || own[0] == 'X')) names = {"y" + own.substr(1), "Y" + own.substr(1)};
  names.insert(names.end(), std::begin(kLabelNames), std::end(kLabelNames));
  for (const std::string& name : names)
    if (const Entry* entry = find(group + name); entry != nullptr && entry->name != data.name) return entry;
  return nullptr;
}

template <class T>
Table<T> Container::read() {
  const Entry& entry = choose_data();
  Variable data = load(entry);
  Table<T> table;
  if (const Entry* found = labels_of(entry)) {
    const Variable values = load(*found);
    if (fit_to_labels(data, entry, values, found->name, table.notes))
      table.labels = make_labels(label_column(values, reading_, found->name), reading_, found->name);
  }
  place(std::move(data), reading_, entry.name, table);
  return table;
}

LabelColumn Container::read_labels() {
  const Entry* chosen = reading_.variable.empty() ? nullptr : &named();
  for (const std::string_view name : kLabelNames)
    if (chosen == nullptr) chosen = find(name);
  if (chosen == nullptr && entries_.size() == 1 && entries_[0].loadable) chosen = entries_.data();
  if (chosen == nullptr)
    reading_.fail("", line_of("which ", kind_, " holds the labels? It has ", listing(), "; name one as file:NAME"));
  return label_column(load(*chosen), reading_, chosen->name);
}

template Table<float> Container::read();
template Table<double> Container::read();

}  // namespace pacewise
