#include "apps/cli/generate.hpp"

#include <CLI/CLI.hpp>
#include <cctype>

#include "apps/cli/outcome.hpp"
#include "pacewise/version.hpp"

namespace pacewise::cli {
namespace {

struct Entry {
  std::vector<std::string> names;  // "-o", "--output"
  std::string type, help, absent, group;
  std::vector<std::string> choices;
  bool takes_file = false;
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
    e.takes_file = e.type.find("FILE") != std::string::npos || e.type.find(".mtx") != std::string::npos ||
                   e.type == "MODEL" || e.type == "CODES" || e.type == "DATA" || e.type == "DIR";
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

std::string bash(const CLI::App& app) {
  std::ostringstream out;
  std::vector<std::string> names;
  for (const CLI::App* sub : commands_of(app)) names.push_back(sub->get_name());
  out << "# bash completion of pacewise; made by `pacewise generate bash`\n"
      << "_pacewise() {\n"
      << "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=''\n"
      << "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      << "    COMPREPLY=($(compgen -W '" << joined(names, " ") << " --help --version' -- \"$word\"))\n"
      << "    return\n  fi\n"
      << "  case \"${COMP_WORDS[1]} $before\" in\n";
  for (const CLI::App* sub : commands_of(app))
    for (const Entry& e : options_of(*sub))
      if (!e.choices.empty())
        out << "    '" << sub->get_name() << " " << e.names.back() << "') COMPREPLY=($(compgen -W '"
            << joined(e.choices, " ") << "' -- \"$word\"))" << (e.takes_file ? "" : "; return") << " ;;\n";
  out << "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const CLI::App* sub : commands_of(app)) {
    out << "    " << sub->get_name() << ") options='";
    std::string all;
    for (const Entry& e : options_of(*sub)) all += (all.empty() ? "" : " ") + joined(e.names, " ");
    out << all << "' ;;\n";
  }
  out << "  esac\n"
      << "  case $word in\n"
      << "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
      << "    *) COMPREPLY+=($(compgen -f -- \"$word\")) ;;\n"
      << "  esac\n}\ncomplete -o filenames -F _pacewise pacewise\n";
  return out.str();
}

std::string quoted(const std::string& text) { return replaced(text, "'", "'\\''"); }

std::string zsh(const CLI::App& app) {
  std::ostringstream out;
  out << "#compdef pacewise\n# zsh completion of pacewise; made by `pacewise generate zsh`\n"
      << "_pacewise() {\n  local -a commands\n  commands=(\n";
  for (const CLI::App* sub : commands_of(app))
    out << "    '" << sub->get_name() << ":" << quoted(replaced(sub->get_description(), ":", "\\:")) << "'\n";
  out << "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    _arguments '--help[help]' "
         "'--version[version]'\n"
      << "    return\n  fi\n  case $words[2] in\n";
  for (const CLI::App* sub : commands_of(app)) {
    out << "    " << sub->get_name() << ")\n      shift words; (( CURRENT-- ))\n      _arguments";
    for (const Entry& e : options_of(*sub))
      for (const std::string& name : e.names) {
        const std::string help = replaced(replaced(replaced(e.help, "[", "("), "]", ")"), ":", "\\:");
        out << " \\\n        '" << name << "[" << quoted(help) << "]";
        if (!e.type.empty()) {
          out << ":" << replaced(e.type, ":", "\\:") << ":";
          if (!e.choices.empty())
            out << "(" << joined(e.choices, " ") << ")";
          else if (e.takes_file)
            out << "_files";
        }
        out << "'";
      }
    out << " \\\n        '*:file:_files'\n      ;;\n";
  }
  out << "  esac\n}\n_pacewise \"$@\"\n";
  return out.str();
}

std::string fish(const CLI::App& app) {
  std::ostringstream out;
  out << "# fish completion of pacewise; made by `pacewise generate fish`\n";
  for (const CLI::App* sub : commands_of(app))
    out << "complete -c pacewise -n __fish_use_subcommand -f -a " << sub->get_name() << " -d '"
        << quoted(sub->get_description()) << "'\n";
  out << "complete -c pacewise -n __fish_use_subcommand -f -l version -d 'Show the version'\n";
  for (const CLI::App* sub : commands_of(app))
    for (const Entry& e : options_of(*sub)) {
      out << "complete -c pacewise -n '__fish_seen_subcommand_from " << sub->get_name() << "'";
      for (const std::string& name : e.names)
        out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (!e.type.empty()) out << (e.takes_file ? " -r" : " -x");
      if (!e.choices.empty()) out << " -a '" << joined(e.choices, " ") << "'";
      out << " -d '" << quoted(e.help) << "'\n";
    }
  return out.str();
}

}  // namespace

std::string generate(const CLI::App& app, const std::string& what) {
  if (what == "man") return man_page(app);
  if (what == "bash") return bash(app);
  if (what == "zsh") return zsh(app);
  if (what == "fish") return fish(app);
  throw UsageError("generate " + what + ": must be man, bash, zsh or fish");
}

}  // namespace pacewise::cli
