; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches.

(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.class
(annotation_type_declaration name: (identifier) @name) @definition.interface
(constructor_declaration name: (identifier) @name) @definition.method
(field_declaration (modifiers) @modifiers declarator: (variable_declarator name: (identifier) @name)
  (#match? @modifiers "static[^\n]*final|final[^\n]*static")) @definition.constant
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant

(type_identifier) @name @reference.type
(marker_annotation name: (identifier) @name @reference.type)
(annotation name: (identifier) @name @reference.type)
(method_reference . (identifier) @name @reference.class)
(method_reference (identifier) @name @reference.call .)
(binary_expression (identifier) @name @reference.value)
(return_statement (identifier) @name @reference.value)
(variable_declarator value: (identifier) @name @reference.value)
(argument_list (identifier) @name @reference.value)
(field_access field: (identifier) @name @reference.value)
(method_invocation object: (identifier) @name @reference.value)
