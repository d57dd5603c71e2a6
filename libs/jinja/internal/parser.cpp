#include "libs/jinja/internal/parser.h"

#include <algorithm>
#include <set>

#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/binder.h"
#include "libs/jinja/internal/expression_parser.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

using Kind = Statement::Kind;
using Ends = std::vector<std::string_view>;

/// A longer source is no chat template, and its tree would take hundreds of megabytes.
constexpr size_t kMaxSource = 1 << 20;

/// Whether the value is called `content`, or is made of one that is.
bool is_content(const Expression& expression) {
  using Kind = Expression::Kind;
  const auto is_content_operand = [&](const ExpressionPtr& operand) {
    return operand != nullptr && is_content(*operand);
  };
  switch (expression.kind) {
    case Kind::kName:
    case Kind::kAttribute:
      return expression.name == "content";
    case Kind::kItem: {
      const Text* text = expression.operands[1]->constant.get<Text>();
      return text != nullptr && text->utf8 == "content";
    }
    case Kind::kFilter:
    case Kind::kSlice:
      return is_content_operand(expression.operands[0]);
    case Kind::kConditional:
    case Kind::kAnd:
    case Kind::kOr:
      return std::any_of(expression.operands.begin(), expression.operands.end(), is_content_operand);
    default:
      return false;
  }
}

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  std::unique_ptr<Tree> run() {
    auto tree = std::make_unique<Tree>();
    tree->root.body = parse_block({});
    tree->has_generation = has_generation_;
    tree->loops_over_content = loops_over_content_;
    return tree;
  }

 private:
  std::unique_ptr<Statement> make(Kind kind, int line) {
    return std::make_unique<Statement>(Statement{kind, line});
  }

  /// Statements up to a tag that begins with one of `ends`; that name is the current token afterwards.
  Block parse_block(const Ends& ends) {
    Block block;
    std::vector<ExpressionPtr> output;
    const auto flush = [&] {
      if (output.empty()) return;
      block.push_back(make(Kind::kOutput, output[0]->line));
      block.back()->expressions = std::move(output);
      output.clear();
    };
    while (!at(TokenKind::kEnd)) {
      if (at(TokenKind::kData)) {
        output.push_back(data());
      } else if (at(TokenKind::kVariableBegin)) {
        next();
        output.push_back(parse_tuple());
        expect(TokenKind::kVariableEnd, "}}");
      } else {
        flush();
        expect(TokenKind::kBlockBegin, "{%");
        if (at(TokenKind::kName) && std::find(ends.begin(), ends.end(), current().text) != ends.end())
          return block;
        if (auto statement = parse_statement(ends)) block.push_back(std::move(statement));
        expect(TokenKind::kBlockEnd, "%}");
      }
    }
    flush();
    if (!ends.empty()) fail(str("the template ends before {% ", ends.back(), " %}"));
    return block;
  }

  ExpressionPtr data() {
    const Token& token = next();
    auto result = std::make_unique<Expression>(Expression{Expression::Kind::kData, token.line});
    const int64_t length = count_code_points(token.text);
    result->constant = std::make_shared<const Text>(Text{token.text, length});
    return result;
  }

  /// The block behind a tag, up to the last of `ends`.
  Block parse_body(const Ends& ends) {
    skip_operator(":");
    expect(TokenKind::kBlockEnd, "%}");
    return parse_block(ends);
  }
  Block parse_body_to(std::string_view end) {
    Block body = parse_body({end});
    next();
    return body;
  }

  std::unique_ptr<Statement> parse_statement(const Ends& ends) {
    const Nested nested(*this);
    if (!at(TokenKind::kName)) fail("tag name expected, got " + described());
    const int line = this->line();
    const std::string tag = next().text;
    if (tag == "if") return parse_if(line);
    if (tag == "for") return parse_for(line);
    if (tag == "set") return parse_set(line);
    if (tag == "macro") return parse_macro(line);
    if (tag == "call") return parse_call_block(line);
    if (tag == "generation") return parse_generation(line);
    if (tag == "filter") return parse_filter_block(line);
    if (tag == "with") return parse_with(line);
    if (tag == "print") return parse_print(line);
    if (tag == "break" || tag == "continue") return parse_jump(tag, line);
    for (const char* refused : {"include", "import", "from", "extends", "block", "autoescape"}) {
      if (tag == refused) fail(str("{% ", tag, " %} is not supported in chat templates"));
    }
    fail(str("Encountered unknown tag '", tag, "'",
             ends.empty() ? "" : str("; looking for {% ", ends.back(), " %}")));
  }

  std::unique_ptr<Statement> parse_jump(const std::string& tag, int line) {
    if (loops_ == 0) fail(str("'", tag, "' outside loop"));
    return make(tag == "break" ? Kind::kBreak : Kind::kContinue, line);
  }

  std::unique_ptr<Statement> parse_if(int line) {
    auto statement = make(Kind::kIf, line);
    while (true) {
      statement->expressions.push_back(parse_tuple(Conditional::kNo));
      statement->blocks.push_back(parse_body({"elif", "else", "endif"}));
      if (skip_name("elif")) continue;
      if (skip_name("else")) {
        statement->blocks.push_back(parse_body_to("endif"));
      } else {
        next();
        statement->blocks.emplace_back();
      }
      return statement;
    }
  }

  /// The same through a variable that was set to it.
  bool reads_content(const Expression& expression) const {
    return is_content(expression) ||
           (expression.kind == Expression::Kind::kName && content_names_.contains(expression.name));
  }

  std::unique_ptr<Statement> parse_for(int line) {
    auto statement = make(Kind::kFor, line);
    statement->targets.push_back(parse_target("in", false));
    expect_name("in");
    statement->expressions.push_back(parse_tuple(Conditional::kNo, "recursive"));
    loops_over_content_ |= reads_content(*statement->expressions[0]);
    statement->expressions.push_back(skip_name("if") ? parse_expression() : nullptr);
    statement->recursive = skip_name("recursive");
    ++loops_;
    statement->blocks.push_back(parse_body({"else", "endfor"}));
    --loops_;
    const bool has_else = at_name("else");
    next();
    statement->blocks.push_back(has_else ? parse_body_to("endfor") : Block());
    statement->scopes.resize(3);
    return statement;
  }

  std::unique_ptr<Statement> parse_set(int line) {
    ExpressionPtr target = parse_target({}, true);
    const bool is_block = !skip_operator("=");
    auto statement = make(is_block ? Kind::kSetBlock : Kind::kSet, line);
    statement->targets.push_back(std::move(target));
    if (!is_block) {
      statement->expressions.push_back(parse_tuple());
      if (reads_content(*statement->expressions[0])) content_names_.insert(statement->targets[0]->name);
      return statement;
    }
    statement->expressions.push_back(parse_filters(nullptr));
    statement->blocks.push_back(parse_body_to("endset"));
    statement->scopes.resize(1);
    return statement;
  }

  void parse_signature(Function& function) {
    expect_operator("(");
    while (!at_operator(")")) {
      if (!function.parameters.empty()) expect_operator(",");
      function.parameters.push_back(parse_name_target());
      for (size_t i = 0; i + 1 < function.parameters.size(); ++i) {
        if (function.parameters[i]->name == function.parameters.back()->name)
          fail("duplicate argument '" + function.parameters[i]->name + "' in function definition");
      }
      if (skip_operator("=")) {
        function.defaults.push_back(parse_expression());
      } else if (!function.defaults.empty()) {
        fail("non-default argument follows default argument");
      }
    }
    expect_operator(")");
  }

  /// The body of a function, whose tags can't leave a loop outside.
  void parse_function_body(Function& function, std::string_view end) {
    const int outer = std::exchange(loops_, 0);
    function.body = parse_body_to(end);
    loops_ = outer;
  }

  std::unique_ptr<Statement> parse_macro(int line) {
    auto statement = make(Kind::kMacro, line);
    statement->function = std::make_unique<Function>();
    statement->targets.push_back(parse_name_target());
    statement->function->name = statement->targets[0]->name;
    parse_signature(*statement->function);
    parse_function_body(*statement->function, "endmacro");
    return statement;
  }

  std::unique_ptr<Statement> parse_call_block(int line) {
    auto statement = make(Kind::kCall, line);
    statement->function = std::make_unique<Function>();
    if (at_operator("(")) parse_signature(*statement->function);
    statement->expressions.push_back(parse_expression());
    if (statement->expressions[0]->kind != Expression::Kind::kCall) fail("expected call");
    parse_function_body(*statement->function, "endcall");
    return statement;
  }

  std::unique_ptr<Statement> parse_generation(int line) {
    auto statement = make(Kind::kGeneration, line);
    statement->function = std::make_unique<Function>();
    parse_function_body(*statement->function, "endgeneration");
    has_generation_ = true;
    return statement;
  }

  std::unique_ptr<Statement> parse_filter_block(int line) {
    auto statement = make(Kind::kFilter, line);
    statement->expressions.push_back(parse_filters(nullptr, true));
    statement->blocks.push_back(parse_body_to("endfilter"));
    statement->scopes.resize(1);
    return statement;
  }

  std::unique_ptr<Statement> parse_with(int line) {
    auto statement = make(Kind::kWith, line);
    while (!at(TokenKind::kBlockEnd)) {
      if (!statement->targets.empty()) expect_operator(",");
      statement->targets.push_back(parse_name_target());
      expect_operator("=");
      statement->expressions.push_back(parse_expression());
    }
    statement->blocks.push_back(parse_body_to("endwith"));
    statement->scopes.resize(1);
    return statement;
  }

  std::unique_ptr<Statement> parse_print(int line) {
    auto statement = make(Kind::kOutput, line);
    while (!at(TokenKind::kBlockEnd)) {
      if (!statement->expressions.empty()) expect_operator(",");
      statement->expressions.push_back(parse_expression());
    }
    return statement;
  }

  int loops_ = 0;
  bool has_generation_ = false;
  bool loops_over_content_ = false;
  std::set<std::string> content_names_;
};

}  // namespace

std::unique_ptr<const Tree> parse(std::string_view source) {
  if (source.size() > kMaxSource)
    throw TemplateError(str("the template has ", source.size(), " bytes; at most ", kMaxSource, " are read"));
  std::unique_ptr<Tree> tree = Parser(tokenize(source)).run();
  bind_names(*tree);
  return tree;
}

}  // namespace cohort::jinja
