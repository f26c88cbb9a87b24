; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(enum_item name: (type_identifier) @name) @definition.enum
(type_item name: (type_identifier) @name) @definition.type
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.constant
(impl_item type: (_) @owner
  body: (declaration_list (function_item name: (identifier) @name) @definition.method))
(trait_item body: (declaration_list (function_item name: (identifier) @name) @definition.method))
(trait_item body: (declaration_list (function_signature_item name: (identifier) @name) @definition.method))

(type_identifier) @reference.type
(call_expression function: (scoped_identifier name: (identifier) @name) @reference.call)
(call_expression function: (generic_function function: [
  (identifier) @name
  (scoped_identifier name: (identifier) @name)
  (field_expression field: (field_identifier) @name)]) @reference.call)
(use_declaration argument: (scoped_identifier name: (identifier) @reference.import))
(use_list [(identifier) @name (scoped_identifier name: (identifier) @name)] @reference.import)
(use_as_clause path: (scoped_identifier name: (identifier) @reference.import))
(arguments (identifier) @reference.value)
(reference_expression value: (identifier) @reference.value)
(scoped_identifier path: (identifier) @reference.type)
(scoped_identifier path: (scoped_identifier name: (identifier) @reference.type))
(binary_expression (identifier) @reference.value)
(match_pattern (identifier) @reference.value)
