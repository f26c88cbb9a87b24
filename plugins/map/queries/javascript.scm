; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches.

(program (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(string) (template_string) (number) (array) (object) (new_expression) (call_expression)
    (member_expression) (identifier) (binary_expression) (unary_expression) (regex) (true) (false) (null)
    (undefined) (await_expression) (ternary_expression) (subscript_expression)]) @definition.constant))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(export_statement (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(export_statement (lexical_declaration (variable_declarator
  name: (_ (shorthand_property_identifier_pattern) @name)) @definition.constant))
(export_statement (lexical_declaration (variable_declarator
  name: (array_pattern (identifier) @name)) @definition.constant))
(export_statement (lexical_declaration (variable_declarator
  name: (object_pattern (pair_pattern value: (identifier) @name))) @definition.constant))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.function))
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @definition.method @local
(object (method_definition name: (property_identifier) @name) @definition.method @local)
(class_body (method_definition name: (_) @name) @definition.method)

(import_specifier name: (identifier) @name @reference.module)
(import_clause (identifier) @name @reference.module)
(namespace_import (identifier) @name @reference.module)
(export_specifier name: (identifier) @name @reference.export)
(arguments (identifier) @name @reference.value)
; TypeScript has another node between, whose text is no name.
(class_heritage (_) @name @reference.class)
(pair value: (identifier) @name @reference.value)
(array (identifier) @name @reference.value)
(spread_element (identifier) @name @reference.value)
(shorthand_property_identifier) @name @reference.value
(variable_declarator value: (identifier) @name @reference.value)
(assignment_expression right: (identifier) @name @reference.value)
(arrow_function body: (identifier) @name @reference.value)
(return_statement (identifier) @name @reference.value)
(binary_expression (identifier) @name @reference.value)
(ternary_expression (identifier) @name @reference.value)
(template_substitution (identifier) @name @reference.value)
(subscript_expression (identifier) @name @reference.value)
(assignment_pattern right: (identifier) @name @reference.value)
(export_statement value: (identifier) @name @reference.export)
(member_expression object: (identifier) @name @reference.value)
(call_expression function: (member_expression property: (private_property_identifier) @name) @reference.call)
((class_body (method_definition name: (property_identifier) @name) @definition.method @local)
  (#eq? @name "constructor"))
