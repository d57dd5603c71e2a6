// str(), repr() and json.dumps() of values.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// Appends texts and charges them as it goes, so that a small template can't grow a huge one.
class Writer {
 public:
  explicit Writer(Runtime& runtime) : runtime_(runtime) {}

  void add(std::string_view text) {
    runtime_.allocate(static_cast<int64_t>(text.size()));
    out_ += text;
  }
  Runtime& runtime() { return runtime_; }
  std::string take() { return std::move(out_); }

 private:
  Runtime& runtime_;
  std::string out_;
};

void write_repr(Writer& out, const Value& value);

template <typename Items>
void write_items(Writer& out, const Items& items, const auto& write) {
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.add(", ");
    first = false;
    write(item);
  }
}

void write_dict_repr(Writer& out, const Dict& dict) {
  out.add("{");
  write_items(out, dict.entries(), [&](const Dict::Entry& entry) {
    write_repr(out, entry.first);
    out.add(": ");
    write_repr(out, entry.second);
  });
  out.add("}");
}

void write_view_repr(Writer& out, const DictView& view) {
  static constexpr const char* kNames[] = {"dict_keys([", "dict_values([", "dict_items(["};
  out.add(kNames[static_cast<int>(view.part)]);
  write_items(out, view.dict->entries(), [&](const Dict::Entry& entry) {
    if (view.part == DictView::Part::kItems) out.add("(");
    if (view.part != DictView::Part::kValues) write_repr(out, entry.first);
    if (view.part == DictView::Part::kItems) out.add(", ");
    if (view.part != DictView::Part::kKeys) write_repr(out, entry.second);
    if (view.part == DictView::Part::kItems) out.add(")");
  });
  out.add("])");
}

std::string range_repr(const Range& range) {
  const std::string ends = str("range(", range.start, ", ", range.stop);
  return range.step == 1 ? ends + ")" : str(ends, ", ", range.step, ")");
}

void write_container_repr(Writer& out, const Value& value) {
  const Runtime::Level level(out.runtime());
  const auto write = [&](const Value& item) { write_repr(out, item); };
  if (const List* list = value.get<List>()) {
    out.add("[");
    write_items(out, list->items, write);
    out.add("]");
  } else if (const Tuple* tuple = value.get<Tuple>()) {
    out.add("(");
    write_items(out, tuple->items, write);
    out.add(tuple->items.size() == 1 ? ",)" : ")");
  } else if (const Dict* dict = value.get<Dict>()) {
    write_dict_repr(out, *dict);
  } else if (const DictView* view = value.get<DictView>()) {
    write_view_repr(out, *view);
  } else if (const Namespace* names = value.get_namespace()) {
    out.add("<Namespace ");
    write_dict_repr(out, names->attributes);
    out.add(">");
  } else {
    const Callable* callable = value.get<Callable>();
    const std::optional<std::string> repr = callable == nullptr ? std::nullopt : callable->repr();
    if (!repr) throw TemplateError(str("a ", type_name(value), " has no text of its own to print"));
    out.add(*repr);
  }
}

void write_repr(Writer& out, const Value& value) {
  out.runtime().step();
  if (value.is_none()) {
    out.add("None");
  } else if (value.is_bool()) {
    out.add(truth(value) ? "True" : "False");
  } else if (const auto whole = value.integer()) {
    out.add(std::to_string(*whole));
  } else if (const BigInteger* big = value.get<BigInteger>()) {
    out.runtime().step(big->num_limbs());
    out.add(big->text());
  } else if (const auto real = value.number()) {
    out.add(float_repr(*real));
  } else if (value.is_undefined() || value.is_missing()) {
    out.add("Undefined");
  } else if (const Text* text = value.get<Text>()) {
    out.add(text->markup ? str("Markup(", in_quotes(text->utf8), ")") : in_quotes(text->utf8));
  } else if (const Range* range = value.get<Range>()) {
    out.add(range_repr(*range));
  } else {
    write_container_repr(out, value);
  }
}

void write_json_text(Writer& out, std::string_view text, bool ensure_ascii) {
  std::string json = "\"";
  const auto add_unit = [&](unsigned unit) {
    char escape[16];
    std::snprintf(escape, sizeof escape, "\\u%04x", unit);
    json += escape;
  };
  for (size_t pos = 0; pos < text.size();) {
    const size_t start = pos;
    const char32_t code_point = next_code_point(text, pos);
    const size_t named = std::string_view("\"\\\n\r\t\b\f").find(static_cast<char>(code_point));
    if (code_point < 0x80 && named != std::string_view::npos) {
      json.append(1, '\\').append(1, "\"\\nrtbf"[named]);
    } else if (code_point < ' ' || (ensure_ascii && code_point >= 0x7F && code_point < 0x10000)) {
      add_unit(code_point);
    } else if (ensure_ascii && code_point >= 0x10000) {
      add_unit(0xD800 + ((code_point - 0x10000) >> 10));
      add_unit(0xDC00 + ((code_point - 0x10000) & 0x3FF));
    } else {
      json += text.substr(start, pos - start);
    }
  }
  out.add(json.append(1, '"'));
}

class JsonWriter {
 public:
  JsonWriter(Writer& out, const JsonStyle& style) : out_(out), style_(style) {}

  void write(const Value& value) {
    out_.runtime().step();
    if (value.is_none()) {
      out_.add("null");
    } else if (value.is_bool()) {
      out_.add(truth(value) ? "true" : "false");
    } else if (const auto whole = value.integer()) {
      out_.add(std::to_string(*whole));
    } else if (const BigInteger* big = value.get<BigInteger>()) {
      out_.runtime().step(big->num_limbs());
      out_.add(big->text());
    } else if (const auto real = value.number()) {
      out_.add(number(*real));
    } else if (const Text* text = value.get<Text>()) {
      write_json_text(out_, text->utf8, style_.ensure_ascii);
    } else if (const List* list = value.get<List>()) {
      write_list(list->items);
    } else if (const Tuple* tuple = value.get<Tuple>()) {
      write_list(tuple->items);
    } else if (const Dict* dict = value.get<Dict>()) {
      write_dict(*dict);
    } else {
      throw_type_error(str("Object of type ", type_name(value), " is not JSON serializable"));
    }
  }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_repr(value);
  }

  void write_list(const std::vector<Value>& items) {
    const Runtime::Level level(out_.runtime());
    if (items.empty()) return out_.add("[]");
    out_.add("[");
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      separate(i > 0);
      write(items[i]);
    }
    --depth_;
    end_of_items();
    out_.add("]");
  }

  void write_dict(const Dict& dict) {
    const Runtime::Level level(out_.runtime());
    if (dict.size() == 0) return out_.add("{}");
    std::vector<Dict::Entry> entries = dict.entries();
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
        return compare(out_.runtime(), a.first, b.first, "<") == -1;
      });
    }
    out_.add("{");
    ++depth_;
    for (size_t i = 0; i < entries.size(); ++i) {
      separate(i > 0);
      write_key(entries[i].first);
      out_.add(style_.key_separator);
      write(entries[i].second);
    }
    --depth_;
    end_of_items();
    out_.add("}");
  }

  void write_key(const Value& key) {
    if (const Text* text = key.get<Text>()) return write_json_text(out_, text->utf8, style_.ensure_ascii);
    if (!key.is_none() && !key.number())
      throw_type_error("keys must be str, int, float, bool or None, not " + type_name(key));
    out_.add("\"");
    write(key);
    out_.add("\"");
  }

  void separate(bool behind_item) {
    if (behind_item) out_.add(style_.item_separator);
    if (style_.indent) new_line();
  }
  void end_of_items() {
    if (style_.indent) new_line();
  }
  void new_line() {
    out_.add("\n");
    for (int i = 0; i < depth_; ++i) out_.add(*style_.indent);
  }

  Writer& out_;
  const JsonStyle& style_;
  int depth_ = 0;
};

}  // namespace

std::string to_repr(Runtime& runtime, const Value& value) {
  Writer out(runtime);
  write_repr(out, value);
  return out.take();
}

std::string to_text(Runtime& runtime, const Value& value) {
  if (const Text* text = value.get<Text>()) return text->utf8;
  return value.is_undefined() ? "" : to_repr(runtime, value);
}

Value soft_text(Runtime& runtime, const Value& value) {
  return value.get<Text>() != nullptr ? value : runtime.text(to_text(runtime, value));
}

std::string to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  Writer out(runtime);
  JsonWriter(out, style).write(value);
  return out.take();
}

}  // namespace cohort::jinja
