#include "io/container.hpp"

#include <algorithm>

namespace pacewise {
namespace {

constexpr std::string_view kDataNames[] = {"X", "fea", "data", "features", "x", "X_train", "x_train", "arr_0"};
constexpr std::string_view kLabelNames[] = {"Y",      "y",      "gnd",     "labels",  "label",
                                            "Labels", "target", "targets", "y_train", "Y_train"};

/// The part of "group/name" after the last '/'.
std::string_view leaf(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

bool is_label_name(std::string_view name) {
  return std::find(std::begin(kLabelNames), std::end(kLabelNames), leaf(name)) != std::end(kLabelNames);
}

const Entry* find(const Container& container, std::string_view name) {
  for (const Entry& entry : container.entries())
    if (entry.name == name) return &entry;
  return nullptr;
}

/// "a (3 x 4), b (10 x 1)", at most ten of them
std::string listing(const Container& container) {
  std::string text;
  std::size_t shown = 0;
  for (const Entry& entry : container.entries()) {
    if (++shown > 10) return line_of(text, " and ", container.entries().size() - 10, " more");
    text += (text.empty() ? "" : ", ") + printable(entry.name, 40);
    if (!entry.loadable)
      text += " (" + entry.what + ")";
    else if (!entry.shape.empty())
      text += " (" + shape_text(entry.shape) + ")";
  }
  return text.empty() ? "nothing" : text;
}

const Entry& named(const Reading& reading, const Container& container) {
  std::string_view wanted = reading.variable;
  if (!wanted.empty() && wanted[0] == '/') wanted.remove_prefix(1);
  const Entry* entry = find(container, wanted);
  if (entry == nullptr)
    reading.fail("", line_of("has no ", container.kind(), " \"", printable(reading.variable), "\"; it holds ",
                             listing(container)));
  if (!entry->loadable) reading.fail(entry->name, line_of("is ", entry->what, "; name a numeric ", container.kind()));
  return *entry;
}

const Entry& choose_data(const Reading& reading, const Container& container) {
  if (!reading.variable.empty()) return named(reading, container);
  for (const std::string_view name : kDataNames) {
    const Entry* entry = find(container, name);
    if (entry != nullptr && entry->loadable && !entry->is_text) return *entry;
  }
  const Entry* only = nullptr;
  std::size_t candidates = 0;
  for (const Entry& entry : container.entries()) {
    if (!entry.loadable || entry.is_text || is_label_name(entry.name)) continue;
    only = &entry;
    ++candidates;
  }
  if (candidates != 1)
    reading.fail("", line_of("which ", container.kind(), " holds the data? It has ", listing(container),
                             "; name one as file:NAME"));
  return *only;
}

/// The labels that belong to `data`: same group; x_test goes with y_test.
const Entry* choose_labels(const Container& container, const Entry& data) {
  const std::string group = data.name.substr(0, data.name.size() - leaf(data.name).size());
  std::string partner(leaf(data.name));
  if (partner.size() > 1 && (partner[0] == 'x' || partner[0] == 'X')) {
    for (const char y : {'y', 'Y'}) {
      partner[0] = y;
      const Entry* entry = find(container, group + partner);
      if (entry != nullptr && entry->loadable) return entry;
    }
  }
  for (const std::string_view name : kLabelNames) {
    const Entry* entry = find(container, group + std::string(name));
    if (entry != nullptr && entry->loadable && entry->name != data.name) return entry;
  }
  return nullptr;
}

/// Turns the array so that its samples are as many as the labels, and says so. False: the labels do not fit.
bool fit_to_labels(Variable& data, const Entry& entry, const std::string& label_name, Index labels,
                   std::vector<std::string>& notes) {
  const Index rows = data.sparse ? data.sparse->cols : data.array.shape.front();
  const Index cols = data.sparse ? data.sparse->rows : data.array.shape.back();
  if (rows == labels) return true;
  if (cols != labels || (!data.sparse && data.array.shape.size() < 2)) {
    notes.push_back(line_of(label_name, " has ", labels, " values for ", rows, " samples of ", entry.name,
                            ": it is not used as labels"));
    return false;
  }
  if (data.sparse)
    data.sparse = transpose(*data.sparse);
  else
    data.array.samples_last = true;
  notes.push_back(line_of(entry.name, " is ", rows, " x ", cols, " and ", label_name, " has ", labels,
                          " values: the samples are its columns, it is transposed"));
  return true;
}

}  // namespace

template <class T>
Table<T> read_container(const Reading& reading, Container& container) {
  const Entry entry = choose_data(reading, container);
  Variable data = container.load(entry);
  if (data.is_text) reading.fail(entry.name, "holds text; name a numeric variable");
  Table<T> table;
  if (const Entry* found = choose_labels(container, entry)) {
    const LabelColumn column = label_column(container.load(*found));
    if (fit_to_labels(data, entry, found->name, static_cast<Index>(column.size()), table.notes))
      table.labels = make_labels(column, reading, found->name);
  }
  if (data.sparse) {
    if (data.sparse->empty()) reading.fail(entry.name, "holds no samples; save at least one");
    table.sparse = std::move(data.sparse);
    reading.at(1);
  } else {
    place(data.array, reading, entry.name, table);
  }
  return table;
}

LabelColumn read_container_labels(const Reading& reading, Container& container) {
  const Entry* chosen = nullptr;
  if (!reading.variable.empty()) chosen = &named(reading, container);
  for (const std::string_view name : kLabelNames) {
    if (chosen != nullptr) break;
    const Entry* entry = find(container, name);
    if (entry != nullptr && entry->loadable) chosen = entry;
  }
  if (chosen == nullptr && container.entries().size() == 1 && container.entries()[0].loadable)
    chosen = &container.entries()[0];
  if (chosen == nullptr)
    reading.fail("", line_of("which ", container.kind(), " holds the labels? It has ", listing(container),
                             "; name one as file:NAME"));
  const Variable variable = container.load(*chosen);
  if (variable.sparse) reading.fail(chosen->name, "is a sparse matrix; labels are a plain vector");
  if (!variable.is_text &&
      *std::max_element(variable.array.shape.begin(), variable.array.shape.end()) != variable.array.count())
    reading.fail(chosen->name, line_of("is ", shape_text(variable.array.shape), "; labels are one vector"));
  return label_column(variable);
}

template Table<float> read_container(const Reading&, Container&);
template Table<double> read_container(const Reading&, Container&);

}  // namespace pacewise
