; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(program (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.function))
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

(import_specifier name: (identifier) @reference.module)
(import_clause (identifier) @reference.module)
(namespace_import (identifier) @reference.module)
(export_specifier name: (identifier) @reference.export)
(arguments (identifier) @reference.value)
; TypeScript has another node between, whose text is no name.
(class_heritage (_) @reference.class)
(pair value: (identifier) @reference.value)
(array (identifier) @reference.value)
(spread_element (identifier) @reference.value)
(shorthand_property_identifier) @reference.value
(variable_declarator value: (identifier) @reference.value)
(assignment_expression right: (identifier) @reference.value)
(arrow_function body: (identifier) @reference.value)
(return_statement (identifier) @reference.value)
(binary_expression (identifier) @reference.value)
(ternary_expression (identifier) @reference.value)
(template_substitution (identifier) @reference.value)
(subscript_expression (identifier) @reference.value)
(assignment_pattern right: (identifier) @reference.value)
(export_statement value: (identifier) @reference.export)
(member_expression object: (identifier) @reference.value)
(call_expression function: (member_expression property: (private_property_identifier) @name) @reference.call)
((class_body (method_definition name: (property_identifier) @name) @definition.method @local)
  (#eq? @name "constructor"))
