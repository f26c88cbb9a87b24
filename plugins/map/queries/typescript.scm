; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (_) @name) @definition.module
(ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(ambient_declaration (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @definition.method

(type_identifier) @reference.type
(extends_clause value: (identifier) @reference.class)
(type_query (identifier) @reference.value)
(satisfies_expression (identifier) @reference.value)
(as_expression (identifier) @reference.value)
(non_null_expression (identifier) @reference.value)
