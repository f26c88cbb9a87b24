; Additions to tags.scm of the grammar's package. Of two definitions with one name node the later pattern counts;
; a definition counts before a reference, and @use makes a node a reference whatever else matches. A reference
; without @name is the name.

(namespace_definition name: (namespace_name) @name) @definition.module
(enum_declaration name: (name) @name) @definition.enum
(method_declaration name: (name) @name) @definition.method
(const_element (name) @name) @definition.constant
(enum_case name: (name) @name) @definition.constant

(function_call_expression function: (name) @reference.call)
(object_creation_expression (name) @reference.class)
(class_constant_access_expression . (name) @reference.class)
(scoped_call_expression scope: (name) @reference.class)
(named_type (name) @reference.type)
(base_clause (name) @reference.class)
(class_interface_clause (name) @reference.implementation)
(use_declaration (name) @reference.implementation)
(namespace_use_clause (qualified_name (name) @reference.import))
(nullsafe_member_call_expression name: (name) @reference.call)
(attribute (name) @reference.class)
