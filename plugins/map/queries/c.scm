; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(enum_specifier name: (type_identifier) @name) @use
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(union_specifier name: (type_identifier) @name body: (_)) @definition.class
(declaration type: (union_specifier name: (type_identifier) @name !body)) @use
(enumerator name: (identifier) @name) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro
(preproc_def name: (identifier) @name value: (_)) @definition.constant
(translation_unit (declaration declarator: (init_declarator
  declarator: [(identifier) @name (_ declarator: (identifier) @name)])) @definition.constant)

(type_identifier) @reference.type
(call_expression function: (identifier) @reference.call)
(call_expression function: (field_expression field: (field_identifier) @reference.call))
(argument_list (identifier) @reference.value)
(initializer_list (identifier) @reference.value)
(pointer_expression argument: (identifier) @reference.value)
(init_declarator value: (identifier) @reference.value)
(assignment_expression right: (identifier) @reference.value)
(return_statement (identifier) @reference.value)
(binary_expression (identifier) @reference.value)
(case_statement value: (identifier) @reference.value)
