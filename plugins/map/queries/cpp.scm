; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches.

(enum_specifier name: (type_identifier) @name) @use
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(class_specifier name: (type_identifier) @name !body) @use
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(union_specifier name: (type_identifier) @name body: (_)) @definition.class
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.interface
(namespace_definition name: (_) @name) @definition.module
(function_declarator declarator: (field_identifier) @name) @definition.method
(function_declarator declarator: (destructor_name) @name) @definition.method
(function_declarator declarator: (qualified_identifier name: (destructor_name) @name)) @definition.method
(function_declarator declarator: (qualified_identifier name: (qualified_identifier
  name: (identifier) @name))) @definition.method
(field_declaration_list (declaration
  declarator: (function_declarator declarator: (identifier) @name) @definition.method))
(field_declaration_list (function_definition
  declarator: (function_declarator declarator: (identifier) @name) @definition.method))
(enumerator name: (identifier) @name) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro
(preproc_def name: (identifier) @name value: (_)) @definition.constant
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant)
(namespace_definition body: (declaration_list
  (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant))

(type_identifier) @name @reference.type
(call_expression function: (identifier) @name @reference.call)
(call_expression function: (field_expression field: (field_identifier) @name @reference.call))
(call_expression function: (qualified_identifier name: (identifier) @name @reference.call))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @name @reference.call)))
(template_function name: (identifier) @name @reference.call)
(argument_list (identifier) @name @reference.value)
(initializer_list (identifier) @name @reference.value)
(pointer_expression argument: (identifier) @name @reference.value)
(return_statement (identifier) @name @reference.value)
(binary_expression (identifier) @name @reference.value)
(case_statement value: (identifier) @name @reference.value)
