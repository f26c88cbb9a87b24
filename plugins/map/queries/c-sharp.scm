; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches.

(struct_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name) @definition.enum
(delegate_declaration name: (identifier) @name) @definition.type
(constructor_declaration name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration name: (identifier) @name) @definition.field
(file_scoped_namespace_declaration name: (_) @name) @definition.module
(namespace_declaration name: (_) @name) @definition.module
(field_declaration (modifier) @modifier
  (variable_declaration (variable_declarator name: (identifier) @name))
  (#match? @modifier "^(const|static)$")) @definition.constant

(invocation_expression function: (identifier) @name @reference.call)
(invocation_expression function: (generic_name (identifier) @name @reference.call))
(member_access_expression name: (generic_name (identifier) @name @reference.call))
(member_access_expression expression: (identifier) @name @reference.value)
(member_access_expression name: (identifier) @name @reference.value)
(generic_name (identifier) @name @reference.type)
(parameter type: (identifier) @name @reference.type)
(method_declaration returns: (identifier) @name @reference.type)
(property_declaration type: (identifier) @name @reference.type)
(type_argument_list (identifier) @name @reference.type)
(nullable_type (identifier) @name @reference.type)
(array_type (identifier) @name @reference.type)
(base_list (identifier) @name @reference.class)
(attribute name: (identifier) @name @reference.class)
(argument (identifier) @name @reference.value)
(binary_expression (identifier) @name @reference.value)
(return_statement (identifier) @name @reference.value)
