; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.class
(annotation_type_declaration name: (identifier) @name) @definition.interface
(constructor_declaration name: (identifier) @name) @definition.method
(field_declaration (modifiers) @modifiers declarator: (variable_declarator name: (identifier) @name)
  (#match? @modifiers "static[^\n]*final|final[^\n]*static")) @definition.constant
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant

(type_identifier) @reference.type
(marker_annotation name: (identifier) @reference.type)
(annotation name: (identifier) @reference.type)
(method_reference . (identifier) @reference.class)
(method_reference (identifier) @reference.call .)
(binary_expression (identifier) @reference.value)
(return_statement (identifier) @reference.value)
(variable_declarator value: (identifier) @reference.value)
(argument_list (identifier) @reference.value)
(field_access field: (identifier) @reference.value)
(method_invocation object: (identifier) @reference.value)
