#include "apps/cli/generate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "apps/cli/outcome.hpp"
#include "pacewise/version.hpp"

namespace pacewise::cli {
namespace {

struct Entry {
  std::vector<std::string> names;  // "-o", "--output"
  std::string type, help, absent, group;
  std::vector<std::string> choices;
};

/// "none|knn|FILE": the words are choices, FILE (or anything in capitals) is not.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> out;
  if (type.find('|') == std::string::npos) return out;
  std::istringstream words(type);
  for (std::string word; std::getline(words, word, '|');)
    if (std::islower(static_cast<unsigned char>(word[0])) != 0)
      out.push_back(word.substr(0, word.find(":D")) + (word.find(":D") != std::string::npos ? ":40" : ""));
  return out;
}

std::vector<Entry> options_of(const CLI::App& app) {
  std::vector<Entry> out;
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_positional() || o->get_group().empty()) continue;
    Entry e;
    for (const std::string& s : o->get_snames()) e.names.push_back("-" + s);
    for (const std::string& l : o->get_lnames()) e.names.push_back("--" + l);
    e.type = o->get_type_size() == 0 ? "" : o->get_type_name();
    e.help = o->get_description();
    e.absent = o->get_default_str();
    e.group = o->get_group();
    e.choices = choices_of(e.type);
    out.push_back(e);
  }
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string roff(const std::string& text) {
  std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out = "\\&" + out;
  return out;
}

std::string positionals_of(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* o : app.get_options())
    if (o->get_positional()) out += " " + o->get_name(true, false);
  return out;
}

std::string man_page(const CLI::App& app) {
  std::ostringstream out;
  out << ".TH PACEWISE 1 \"\" \"pacewise " << kVersion << "\" \"User Commands\"\n"
      << ".SH NAME\npacewise \\- robust dictionary learning by self\\-paced sparse coding\n"
      << ".SH SYNOPSIS\n";
  for (const CLI::App* sub : commands_of(app))
    out << ".B pacewise " << sub->get_name() << "\n.RI" << roff(positionals_of(*sub)) << " [ options ]\n.br\n";
  out << ".SH DESCRIPTION\n"
      << "Pacewise learns a dictionary and sparse codes from data with outliers, corrupted and missing entries.\n"
      << "Files hold samples as rows: .npy, .npz, .csv, .tsv, MATLAB .mat, IDX, Matrix Market .mtx, HDF5\n"
      << "(file.h5:/path), or a folder of images. NaN is a missing entry.\n";
  for (const CLI::App* sub : commands_of(app)) {
    out << ".SH \"PACEWISE " << upper(sub->get_name()) << "\"\n" << roff(sub->get_description()) << ".\n";
    for (const CLI::Option* o : sub->get_options())
      if (o->get_positional())
        out << ".TP\n.I " << roff(o->get_name(true, false)) << "\n" << roff(o->get_description()) << "\n";
    std::string group;
    for (const Entry& e : options_of(*sub)) {
      if (e.names.back() == "--help") continue;
      if (e.group != group && e.group != "Options") out << ".SS " << e.group << "\n";
      group = e.group;
      out << ".TP\n.B " << roff(joined(e.names, ", "));
      if (!e.type.empty()) out << " \\fI" << roff(e.type) << "\\fR";
      out << "\n" << roff(e.help) << (e.absent.empty() ? "" : " [" + roff(e.absent) + "]") << "\n";
    }
    const std::string footer = sub->get_footer();
    out << ".PP\nExample:\n.PP\n.nf\n.RS\n" << roff(footer.substr(footer.find("pacewise"))) << "\n.RE\n.fi\n";
  }
  out << ".SH \"EXIT STATUS\"\n"
         ".TP\n0\ndone\n.TP\n1\nverify: the figures differ; fit: a result was written, but the tolerance was not "
         "reached\n"
         ".TP\n2\nbad usage\n.TP\n3\nbad input\n.TP\n4\nan output cannot be written\n"
         ".TP\n130\ninterrupted; fit has written a checkpoint\n";
  return out.str();
}

// The shells ask the program what may follow; where it knows nothing they complete names of files.
constexpr char kBash[] = R"sh(# bash completion of pacewise
_pacewise() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" generate words "${COMP_WORDS[@]:1:COMP_CWORD}" | cut -f 1)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -o bashdefault -F _pacewise pacewise
)sh";
constexpr char kZsh[] = R"sh(#compdef pacewise
_pacewise() {
  local -a lines
  lines=("${(@f)$("${words[1]}" generate words "${(@)words[2,CURRENT]}")}")
  [[ -n $lines ]] || { _files; return }
  lines=("${(@)lines//:/\\:}")
  lines=("${(@)lines/$'\t'/:}")
  _describe pacewise lines
}
_pacewise "$@"
)sh";
constexpr char kFish[] = R"sh(# fish completion of pacewise
function __pacewise
  set -l typed (commandline -opc) (commandline -ct)
  $typed[1] generate words $typed[2..]
end
complete -c pacewise -a '(__pacewise)'
)sh";

}  // namespace

std::string generate(const CLI::App& app, const std::string& what) {
  if (what == "man") return man_page(app);
  if (what == "bash") return kBash;
  if (what == "zsh") return kZsh;
  if (what == "fish") return kFish;
  throw UsageError("generate " + what + ": must be man, bash, zsh or fish");
}

std::string completions(const CLI::App& app, const std::vector<std::string>& typed) {
  std::string out;
  const auto add = [&](const std::string& word, const std::string& help) { out += word + "\t" + help + "\n"; };
  const CLI::App* at = &app;
  for (const CLI::App* sub : commands_of(app)) {
    if (typed.size() < 2) add(sub->get_name(), sub->get_description());
    if (typed.size() > 1 && sub->get_name() == typed[0]) at = sub;
  }
  for (const Entry& e : options_of(*at)) {
    if (typed.size() > 1 && std::find(e.names.begin(), e.names.end(), typed.end()[-2]) != e.names.end())
      for (const std::string& choice : e.choices) add(choice, e.help);
    if (typed.back().starts_with("-"))
      for (const std::string& name : e.names) add(name, e.help);
  }
  return out;
}

}  // namespace pacewise::cli
