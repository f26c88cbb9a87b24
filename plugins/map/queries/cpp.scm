; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

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
(function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name))
  @definition.method
(function_declarator declarator: (qualified_identifier scope: (_) @owner name: (destructor_name) @name))
  @definition.method
(function_declarator declarator: (qualified_identifier name: (qualified_identifier scope: (_) @owner
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

(type_identifier) @reference.type
(call_expression function: (identifier) @reference.call)
(call_expression function: (field_expression field: (field_identifier) @reference.call))
(call_expression function: (qualified_identifier name: (identifier) @reference.call))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @reference.call)))
(template_function name: (identifier) @reference.call)
(argument_list (identifier) @reference.value)
(initializer_list (identifier) @reference.value)
(pointer_expression argument: (identifier) @reference.value)
(return_statement (identifier) @reference.value)
(binary_expression (identifier) @reference.value)
(case_statement value: (identifier) @reference.value)
