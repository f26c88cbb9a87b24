; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

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

(invocation_expression function: (identifier) @reference.call)
(invocation_expression function: (generic_name (identifier) @reference.call))
(member_access_expression name: (generic_name (identifier) @reference.call))
(member_access_expression expression: (identifier) @reference.value)
(member_access_expression name: (identifier) @reference.value)
(generic_name (identifier) @reference.type)
(parameter type: (identifier) @reference.type)
(method_declaration returns: (identifier) @reference.type)
(property_declaration type: (identifier) @reference.type)
(type_argument_list (identifier) @reference.type)
(nullable_type (identifier) @reference.type)
(array_type (identifier) @reference.type)
(base_list (identifier) @reference.class)
(attribute name: (identifier) @reference.class)
(argument (identifier) @reference.value)
(binary_expression (identifier) @reference.value)
(return_statement (identifier) @reference.value)
